import { join } from 'node:path';
import { startPlatform } from '../api/platform.ts';
import { CHAIN_START, type ChainHead } from '../application/core/events/event-codec.ts';
import type { NewEvent } from '../application/ports/event-store.ts';
import { DomainError } from '../domain/core/errors.ts';
import { readConfig } from '../infrastructure/config.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { Connection, requestBytes } from './http/load.ts';
import { inFolder, platformEnvironment, startPlatformChild } from './http/platform.ts';
import { partnerToken } from './http/tokens.ts';
import { causeOf, ids, newCodec } from './logs.ts';
import { type Line, milliseconds } from './report.ts';
import { median, scaled } from './rounds.ts';
import { useCasesOf } from './use-cases.ts';

const LARGE = 1_000_000;
const SMALL = 10_000;
const SAME = 1.3;
const USERS = 100;
const DAYS = 30;
/** Events of one stream, appended at once. */
const AT_ONCE = 200;
const STREAMS_AT_ONCE = 20;

const PATH = '/api/v1/partner-portal/billing/statements?from=2026-04-01&to=2026-05-01';
const CARD = {
  rates: {
    job_transitions: { wholesale: '0.5', retail: '0.75', included: 1000 },
    active_users: { wholesale: '100', retail: '150' },
  },
  ifVersion: undefined,
};

const context = () => ({ cause: causeOf('bench'), priorAttempt: undefined, newId: () => ids.next() });

/** A statement over a million metered events beside one over ten thousand, of as many people on the same days. */
export const benchBilling = (scale: number): Promise<Line[]> =>
  inFolder(async (folder) => {
    const many = scaled(LARGE, scale, 2 * SMALL);
    const customers = { large: many, small: SMALL };
    await inPlatform(folder, async (platform) => {
      const useCases = useCasesOf(platform);
      for (const id of Object.keys(customers)) {
        await useCases.partners.create({ id, name: id }, context());
        const tenant = { id, name: id, plan: 'pro', currency: 'EUR', timezone: 'UTC' } as const;
        const entitlements = { ledger: false, assistant: false };
        await useCases.tenancy.create({ ...tenant, partner_id: id, entitlements }, context());
        await useCases.rateCards.replace(id, CARD, context());
      }
    });
    for (const [id, count] of Object.entries(customers)) await fill(folder, id, count);
    // Counted before anything is measured.
    await inPlatform(folder, async (platform) => {
      const useCases = useCasesOf(platform);
      for (const id of Object.keys(customers)) {
        while (!(await isCounted(() => useCases.statements.draft(id, id, WINDOW)))) await pause();
      }
    });
    const platform = await startPlatformChild(folder);
    try {
      return [await time(platform.port, many, scale)];
    } finally {
      await platform.stop();
    }
  });

const WINDOW = { from: '2026-04-01T00:00:00.000Z', to: '2026-05-01T00:00:00.000Z' };
const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 100));

const isCounted = async (read: () => Promise<unknown>): Promise<boolean> => {
  try {
    await read();
    return true;
  } catch (error) {
    if (error instanceof DomainError && error.code === 'read_model_behind') return false;
    throw error;
  }
};

const inPlatform = async (
  dataDir: string,
  work: (platform: Awaited<ReturnType<typeof startPlatform>>) => Promise<void>,
): Promise<void> => {
  const config = readConfig(platformEnvironment(dataDir));
  const platform = await startPlatform({ config, logger: createLogger('error') });
  try {
    await work(platform);
  } finally {
    await platform.stop();
  }
};

/** Jobs that go round in circles, evenly over the days and the people. */
const fill = async (folder: string, tenantId: string, count: number): Promise<void> => {
  const events = openSqliteEventStore({ path: join(folder, 'events.db') });
  const { codec } = newCodec();
  const causes = Array.from({ length: USERS }, (_, nth) => causeOf(`user-${nth}`));
  let made = 0;
  const job = async (): Promise<void> => {
    const id = ids.next();
    const stream = `${tenantId}.record-${id}`;
    const data = {
      record_id: id,
      entity_name: 'thing',
      workflow: 'circle',
      workflow_version: 1,
      from_state: 'a',
      to_state: 'b',
      event_name: 'go',
    };
    let head: ChainHead = CHAIN_START;
    const batch: NewEvent[] = [];
    while (batch.length < AT_ONCE && made < count) {
      const at = Date.parse(WINDOW.from) + Math.floor((made / count) * DAYS * 86_400_000);
      const cause = causes[made % USERS] ?? causeOf('nobody');
      made += 1;
      const event = { id: ids.next(), type: 'JobTransitioned', data, at };
      const { stored, recorded } = codec.encode(stream, tenantId, head, event, cause);
      head = recorded;
      batch.push(stored);
    }
    if (batch.length > 0) await events.append(stream, 'no_stream', batch);
  };
  try {
    while (made < count) await Promise.all(Array.from({ length: STREAMS_AT_ONCE }, job));
  } finally {
    await events.close();
  }
};

const time = async (port: number, many: number, scale: number): Promise<Line> => {
  const connection = await Connection.open(port);
  const times = { large: [] as number[], small: [] as number[] };
  const counts = { large: many, small: SMALL };
  try {
    const rounds = scaled(400, scale, 100);
    for (let nth = 0; nth < rounds; nth += 1) {
      // In turns, and each first as often as the other.
      const kinds = nth % 2 === 0 ? (['large', 'small'] as const) : (['small', 'large'] as const);
      for (const kind of kinds) {
        const began = performance.now();
        const { status, body } = await connection.request(
          requestBytes('GET', PATH, { token: partnerToken(kind) }),
        );
        const ms = performance.now() - began;
        if (status !== 200 || !body.includes(`"quantity":${counts[kind]},`))
          throw new Error(body.slice(0, 500));
        if (nth >= rounds / 4) times[kind].push(ms);
      }
    }
  } finally {
    connection.close();
  }
  const [value, yardstick] = [median(times.large), median(times.small)];
  return {
    figure: `a statement over ${many.toLocaleString('en')} events`,
    value: milliseconds(value),
    yardstick: { name: `the same over ${SMALL.toLocaleString('en')}`, value: milliseconds(yardstick) },
    target: { text: `≤ ${SAME}`, met: value / yardstick <= SAME },
  };
};
