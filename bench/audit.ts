import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { verifyExport } from '../api/admin/verify-export.ts';
import { EventExport } from '../application/audit/event-export.ts';
import { HeadKeeper } from '../application/audit/head-keeper.ts';
import { LogFollower } from '../application/core/subscriptions/log-follower.ts';
import type { EventStore } from '../application/ports/event-store.ts';
import { catalogue } from '../domain/catalogue.ts';
import { openSqliteHeadStore } from '../infrastructure/audit/sqlite-heads.ts';
import { openSqliteEventStore } from '../infrastructure/event-store/sqlite/store.ts';
import { createLogger } from '../infrastructure/logger.ts';
import { chainAndSigning } from './audit-costs.ts';
import { inFolder, nodeOptions } from './http/platform.ts';
import { fillLog, newCodec, TENANT } from './logs.ts';
import { type Line, mebibytes, microseconds, perSecond } from './report.ts';
import { alternate, scaled } from './rounds.ts';

const CONVERSATIONS = 100;
const MESSAGES = 1000;
const ROUNDS = 5;
const EXPORTED = 100_000;
const VERIFIED = 100_000;
/** Maximum of additional memory for an export or a check of ten times as many events. */
const FLAT_MIB = 64;

/**
 * Compares an export with plain reads of the same events. Measures the verifier, the memory of the export and of the
 * verifier, and the cost of the hash chain and of signed heads. No text in the log can be opened, as after an erasure.
 */
export const benchAudit = async (scale: number): Promise<Line[]> => [
  ...(await inFolder((folder) => exportAndCheck(folder, scale))),
  ...(await chainAndSigning(scale)),
];

const exportAndCheck = async (folder: string, scale: number): Promise<Line[]> => {
  const path = join(folder, 'events.db');
  const filled = openSqliteEventStore({ path });
  const count = await fillLog(filled, CONVERSATIONS, scaled(MESSAGES, scale, 20));
  await filled.close();
  // Reopened, so that no event is in memory.
  const events = openSqliteEventStore({ path });
  const to = join(folder, 'events.ndjson');
  let files = 0;
  try {
    const rateOf = async (work: () => Promise<unknown>): Promise<number> => {
      const began = performance.now();
      await work();
      return (count / (performance.now() - began)) * 1000;
    };
    // A new file each time, since truncating the previous one takes as long as exporting about 10,000 events.
    const newFile = (): string => {
      files += 1;
      return join(folder, `export-${files}.ndjson`);
    };
    const { raw, exported, filed, verified, kept } = await alternate(ROUNDS, {
      raw: () => rateOf(() => readAll(events)),
      // Drops the exported lines, as the plain reads drop their events.
      exported: () =>
        rateOf(async () => {
          for await (const _piece of exportOf(events));
        }),
      filed: async () => {
        const file = newFile();
        const rate = await rateOf(() => exportAll(events, file));
        await rename(file, to);
        return rate;
      },
      verified: () => rateOf(() => verifyExport({ export: to, strict: false })),
      kept: () => rateOf(() => keepHeads(events, join(folder, `heads-${performance.now()}.db`))),
    });
    const small = join(folder, 'small');
    return [
      {
        figure: 'export of a tenant, as lines',
        value: perSecond(exported),
        yardstick: { name: 'reading its events', value: perSecond(raw) },
        target: { text: `≥ ${EXPORTED.toLocaleString('en')}/s`, met: exported >= EXPORTED },
      },
      { figure: 'the same into a file', value: perSecond(filed) },
      {
        figure: 'verification',
        value: perSecond(verified),
        target: { text: `≥ ${VERIFIED.toLocaleString('en')}/s`, met: verified >= VERIFIED },
      },
      { figure: 'keeping the heads, an event', value: microseconds(1e6 / kept) },
      ...(await memoryOf('export', path, await smallLog(small, count))),
      ...(await memoryOf('verify', to, join(small, 'events.ndjson'))),
    ];
  } finally {
    await events.close();
  }
};

/** Creates a log of a tenth of the events, and its export in the same folder. @returns path of the log */
const smallLog = async (folder: string, count: number): Promise<string> => {
  await mkdir(folder);
  const path = join(folder, 'events.db');
  const events = openSqliteEventStore({ path });
  await fillLog(events, CONVERSATIONS, Math.max(1, Math.round(count / CONVERSATIONS / 10)));
  await exportAll(events, join(folder, 'events.ndjson'));
  await events.close();
  return path;
};

const MIB = 1_048_576;

/** Compares the peak memory (MiB) of a process that only runs this task with a process with a tenth of the events. */
const memoryOf = async (task: 'export' | 'verify', whole: string, tenth: string): Promise<Line[]> => {
  const [large, small] = [await peakOf(task, whole), await peakOf(task, tenth)];
  return [
    {
      figure: `peak memory, ${task}`,
      value: mebibytes(large * MIB),
      yardstick: { name: 'with a tenth of the events', value: mebibytes(small * MIB) },
      target: { text: `≤ ${FLAT_MIB} MiB more`, met: large - small <= FLAT_MIB },
    },
  ];
};

const peakOf = async (task: string, path: string): Promise<number> => {
  const script = fileURLToPath(new URL('./audit-memory.ts', import.meta.url));
  // An export runs in the server, with the options of `npm start`; a verifier runs on any machine, without them.
  const options = task === 'export' ? nodeOptions : [];
  const child = spawn(process.execPath, [...options, script, task, path], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (part: string) => {
    text += part;
  });
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`${task} ended with ${code}`);
  return Number(text);
};

const PIECE = 1000;

/** Reads one tenant's events page by page, like any reader of the log. */
const readAll = async (events: EventStore): Promise<void> => {
  let from: Awaited<ReturnType<EventStore['end']>>;
  for (;;) {
    const page = await events.readAll({ from, limit: PIECE, filter: { streamPrefix: `${TENANT}.` } });
    from = page.at(-1)?.position;
    if (page.length < PIECE) return;
  }
};

const exportOf = (events: EventStore): AsyncIterable<Uint8Array> =>
  new EventExport({ events, catalogue, keys: newCodec().keys }).export(TENANT, {});

export const exportAll = (events: EventStore, to: string): Promise<void> => writeAll(exportOf(events), to);

const writeAll = async (pieces: AsyncIterable<Uint8Array>, to: string): Promise<void> => {
  const file = await open(to, 'w');
  try {
    for await (const piece of pieces) await file.writeFile(piece);
  } finally {
    await file.close();
  }
};

const keepHeads = async (events: EventStore, path: string): Promise<void> => {
  const heads = await openSqliteHeadStore({ path });
  const logger = createLogger('error');
  const keeper = new HeadKeeper({ events, follower: new LogFollower({ events, logger }), heads, logger });
  const stopping = new AbortController();
  const running = keeper.run(stopping.signal);
  await keeper.reachEnd();
  stopping.abort();
  await running;
  await heads.close();
};
