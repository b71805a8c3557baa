import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { EventCodec } from '../../application/core/events/event-codec.ts';
import { Erasures } from '../../application/core/privacy/erasures.ts';
import { KeyRing } from '../../application/core/privacy/key-ring.ts';
import { checkLog } from '../../application/operations/data-check.ts';
import { KeyCheck } from '../../application/operations/key-check.ts';
import type { Finding } from '../../application/operations/log-check.ts';
import {
  type Compared,
  compareReadModel,
  type Difference,
  Replaced,
} from '../../application/operations/read-model-comparison.ts';
import { type EventStore, type Position, StoreUnavailable } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { ProjectionMetrics } from '../../application/ports/metrics.ts';
import type { ReadStore } from '../../application/ports/read-store.ts';
import { catalogue } from '../../domain/catalogue.ts';
import type { Projection } from '../../domain/core/projection.ts';
import type { Config, RequiredSecret } from '../../infrastructure/config.ts';
import { knownSecret } from '../../infrastructure/development-secrets.ts';
import { formatPosition, offsetOf } from '../../infrastructure/event-store/positions.ts';
import { importedIn } from '../../infrastructure/event-store/sqlite/imported.ts';
import { logIndexFaults } from '../../infrastructure/event-store/sqlite/index-faults.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { type Scratch, takeScratch } from '../../infrastructure/read-store/scratch.ts';
import { integrityFaults } from '../../infrastructure/sqlite/integrity.ts';
import { keyFileOf, openEvents, openReads, openStores } from '../../infrastructure/stores.ts';
import { projections } from '../../projections/all.ts';
import { type AdminCommand, adminConfig, optionsOf, printNote, printResult, Refusal } from './command.ts';

/** Discards log lines: an event that cannot be folded is reported as a difference instead. */
export const silentLogger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
const nothing = (): void => undefined;
const metrics: ProjectionMetrics = {
  eventsProjected: nothing,
  projectionLag: nothing,
  parkedTenants: nothing,
};

/** @throws {Refusal} when an embedded log is missing in the data folder: a check of nothing would find no faults */
export const existingData = (...uses: readonly RequiredSecret[]): Config => {
  const config = adminConfig(...uses);
  if (config.EVENTSTORE_URL === undefined && !existsSync(join(config.DATA_DIR, 'events.db'))) {
    throw new Refusal(`${config.DATA_DIR} holds no event log. Check DATA_DIR.`);
  }
  return config;
};

const TRIES = 3;

/**
 * Compares one read model. If a rebuild replaces its generation meanwhile, starts again with the new one; three tries
 * at most.
 * @throws {Replaced}
 */
const compareOne = async (
  projection: Projection,
  scratch: Scratch,
  { events, live }: { readonly events: EventStore; readonly live: ReadStore },
): Promise<Compared> => {
  const codec = new EventCodec(catalogue);
  for (let tries = 1; ; tries += 1) {
    const beside = await scratch.open(projection.name);
    try {
      const deps = {
        events,
        codec,
        live,
        scratch: beside,
        logger: silentLogger,
        metrics,
        clock: systemClock,
      };
      return await compareReadModel(projection, deps);
    } catch (error) {
      if (!(error instanceof Replaced) || tries >= TRIES) throw error;
    } finally {
      await beside.close();
    }
  }
};

const SAID: Readonly<Record<Difference['kind'], string>> = {
  missing: 'is missing, although the log produces it',
  surplus: 'exists, although the log does not produce it',
  changed: 'differs from what the log produces',
  unreadable: 'cannot be read',
  not_indexed: 'is not found through an index by its own values',
  parked: 'was parked by an event that cannot be folded',
  wrong_checkpoint: 'has a checkpoint that is not a position of the log',
};

const lineOf = ({ kind, projection, collection, tenant, id }: Difference): string =>
  [kind, projection, collection, tenant, id].filter((part) => part !== undefined).join(' ') +
  `: ${SAID[kind]}`;

/** @returns the number of differences; a read model that is unavailable counts as one */
const compareAll = async (
  config: Config,
  chosen: readonly Projection[],
  stores: { readonly events: EventStore; readonly live: ReadStore },
): Promise<number> => {
  const scratch = await takeScratch(join(config.DATA_DIR, 'scratch'));
  if (scratch === undefined)
    throw new Refusal('Another comparison is running on this data folder. Wait until it has ended.');
  try {
    let differences = 0;
    for (const projection of chosen) {
      const compared = await compareOne(projection, scratch, stores).catch((error: unknown) => {
        if (!(error instanceof StoreUnavailable)) throw error;
        printResult(`unavailable ${projection.name}: ${error.message}`);
      });
      if (compared === undefined) {
        differences += 1;
        continue;
      }
      for (const difference of compared.differences) printResult(lineOf(difference));
      differences += compared.differences.length;
      printNote(
        compared.position === undefined && compared.differences.length === 0
          ? `${projection.name}: nothing has been folded yet.`
          : `${projection.name}: ${compared.documents} documents up to ${compared.position ?? 'nowhere'}.`,
      );
    }
    return differences;
  } finally {
    await scratch.remove();
  }
};

export const compareReadModels: AdminCommand = {
  name: 'compare-read-models',
  usage: '[--projection <name>]',
  summary:
    'Rebuild every read model in a temporary store, compare it with the active one and print each difference. The exit code is 1 if there is any.',
  run: async (args) => {
    const names = projections.map(({ name }) => name);
    const schema = z.object({ projection: z.enum(names).optional() });
    const { projection: only } = optionsOf(args, schema);
    const config = existingData();
    const events = await openEvents(config, silentLogger);
    const live = await openReads(config);
    try {
      const chosen = projections.filter(({ name }) => only === undefined || name === only);
      const differences = await compareAll(config, chosen, { events, live });
      if (differences > 0) throw new Refusal(`There are differences: ${differences}.`);
      printNote('There are no differences.');
    } finally {
      await live.close();
      await events.close();
    }
  },
};

/** Embedded files, besides the key store's, that are checked if they exist. */
const FILES = ['events.db', 'read-models.db', 'answers.db', 'snapshots.db', 'heads.db', 'corpus.db'];

const checkFiles = (config: Config, quick: boolean, report: (finding: Finding) => void): void => {
  const keys = keyFileOf(config);
  const paths = FILES.map((name) => join(config.DATA_DIR, name));
  if (keys !== undefined) paths.push(keys);
  for (const path of paths.filter(existsSync)) {
    const isLog = path.endsWith('events.db');
    const faults = [...integrityFaults(path, quick), ...(isLog && !quick ? logIndexFaults(path) : [])];
    for (const message of faults) report({ kind: 'damaged_file', what: path, message });
  }
};

/**
 * Returns a check that positions of the embedded log have no gap. Imported positions have gaps, so imported events are
 * counted instead.
 */
const nextEmbedded = (dataDir: string, report: (finding: Finding) => void) => {
  const part = importedIn(join(dataDir, 'events.db'));
  if (part !== undefined && part.found !== part.events) {
    const message = `Of ${part.events} imported events up to this position, only ${part.found} exist.`;
    report({ kind: 'missing_event', what: formatPosition(part.last), message });
  }
  const imported = part?.last ?? 0;
  return (before: Position | undefined, position: Position): boolean => {
    const [at, last] = [offsetOf(position), before === undefined ? 0 : offsetOf(before)];
    return at <= imported ? at > last : at === Math.max(last, imported) + 1;
  };
};

export const verifyData: AdminCommand = {
  name: 'verify-data',
  usage: '[--quick] [--no-read-models]',
  summary:
    'Check files, log, hash chains, stored heads, keys and read models of the data folder. The exit code is 1 for any fault.',
  run: async (args) => {
    const schema = z.object({ quick: z.boolean(), 'no-read-models': z.boolean() });
    const options = optionsOf(args, schema);
    const config = existingData('MASTER_KEY');
    const masterKey = knownSecret(config, 'MASTER_KEY');
    if (masterKey === undefined)
      throw new Refusal('MASTER_KEY must be set: without it keys cannot be checked.');
    let faults = 0;
    const report = ({ kind, what, message }: Finding): void => {
      faults += 1;
      printResult(`${kind} ${what}: ${message}`);
    };
    checkFiles(config, options.quick, report);
    const hasHeads = existsSync(join(config.DATA_DIR, 'heads.db'));
    const stores = await openStores(config, silentLogger).catch((error: unknown) => {
      if (faults > 0) return undefined;
      throw error;
    });
    if (stores === undefined)
      throw new Refusal('The stores cannot be opened because of these faults, so the rest was not checked.');
    try {
      const { events, reads } = stores;
      const keys = new KeyRing(stores.keys, masterKey);
      const codec = new EventCodec(catalogue);
      const erasures = new Erasures({ events, codec, keys, store: stores.keys, logger: silentLogger });
      const log = await checkLog(
        {
          events,
          codec,
          reads,
          keys: new KeyCheck({ catalogue, keys, erasures }),
          heads: hasHeads ? stores.heads : undefined,
          isNext: config.EVENTSTORE_URL === undefined ? nextEmbedded(config.DATA_DIR, report) : () => true,
        },
        report,
      );
      printNote(`log: ${log.events} events in ${log.streams} streams, up to ${log.position ?? 'nowhere'}.`);
      if (!options['no-read-models'])
        faults += await compareAll(config, projections, { events, live: reads });
    } finally {
      await stores.close();
    }
    if (faults > 0) throw new Refusal(`There are faults: ${faults}.`);
    printNote('There are no faults.');
  },
};
