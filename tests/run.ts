import { fork } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import Mocha from 'mocha';
import { prepareMongo } from './support/mongodb-server.ts';
import { cleanUp, startServer } from './support/server.ts';
import { type FileTimes, measureFiles, tableOf } from './support/times.ts';

/**
 * `npm run test:all`: runs every test file, in batches of neighbouring files, each batch in its own process and several at a
 * time. Prints the failures again at the end, then one line with the counts. Exits with 1 when a test failed or none ran.
 *
 * `npm run test:all -- tests/e2e/ledger` runs one folder, or several, or files. `TEST_PROCESSES` is the number of processes
 * at a time (default: one more than there are cores, at most 4, since tests wait for servers and timers). `TEST_TIMES=1`
 * prints the processor time and the server starts of each file. `TEST_STORES=eventstoredb` keeps the events of all servers on the test server of EventStoreDB
 * instead of the embedded store; without it only the areas in `OVER_EVENTSTOREDB` run over both.
 */

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Outcome extends Counts {
  /** Titles and errors of the failed tests. */
  readonly failures: readonly string[];
  readonly times: readonly FileTimes[];
}

/** Generous, since tests that start servers mostly wait, and a busy machine takes up to a minute for each start. */
const TIMEOUT_MS = 180_000;
/** Files of a batch share servers (see `sharedWorld`) and loaded modules. */
const BATCH = 20;
const MONGODB = 'MongoDB';
/** Characters of an error that are printed again at the end. */
const FAILURE_CHARACTERS = 1500;

/** Runs the files in this process and sends the outcome to the parent. */
const runBatch = async (files: readonly string[]): Promise<void> => {
  const mocha = new Mocha({ timeout: TIMEOUT_MS, reporter: 'spec', forbidOnly: true });
  for (const file of files) mocha.addFile(file);
  await mocha.loadFilesAsync();
  const failures: string[] = [];
  const runner = mocha.run((failed) => {
    const { passes = 0, pending = 0 } = runner.stats ?? {};
    const outcome: Outcome = { passed: passes, failed, skipped: pending, failures, times: times() };
    // Servers and handles that a test left open must not prevent the exit.
    process.send?.(outcome, () => process.exit(0));
  });
  const times = process.env.TEST_TIMES === '1' ? measureFiles(runner) : () => [];
  runner.on('fail', (test, error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    failures.push(`${test.fullTitle()}\n${why.slice(0, FAILURE_CHARACTERS)}\n`);
  });
};

/** Longest tests first, so that no core is idle at the end. Those with MongoDB wait until its server is built. */
const FIRST = ['tests/e2e/', MONGODB, 'tests/property', 'tests/contract'];

const rank = ({ files, needsMongo }: Batch): number => {
  const folder = needsMongo ? MONGODB : (files[0] ?? '');
  const found = FIRST.findIndex((first) => folder.startsWith(first));
  return found < 0 ? FIRST.length : found;
};

/** Areas whose files also run over EventStoreDB's test server. Kills with several nodes are in `tests/e2e/stores`. */
const OVER_EVENTSTOREDB = ['messaging', 'websocket', 'bulk', 'ledger', 'webhooks'];

type Stores = 'embedded' | 'eventstoredb';

interface Batch {
  readonly files: readonly string[];
  readonly needsMongo: boolean;
  readonly stores: Stores;
}

/** One folder of `tests/e2e`, or all folders of a layer: tests without servers are short. */
const areaOf = (file: string): string => {
  const depth = file.startsWith('tests/e2e/') ? 3 : 2;
  return dirname(file).split('/').slice(0, depth).join('/');
};

const needsMongo = (file: string): boolean => readFileSync(file, 'utf8').includes('support/mongodb-');

/** Files that need MongoDB are in smaller batches of their own, which start a server each. */
const batches = (under: readonly string[]): Batch[] => {
  const files = under
    .flatMap((path) => (path.endsWith('.test.ts') ? path : globSync(`${path}/**/*.test.ts`)))
    .sort();
  const folders = Map.groupBy(files, (file) => (needsMongo(file) ? MONGODB : areaOf(file)));
  const parts = [...folders].flatMap(([folder, files]): Batch[] => {
    const most = folder === MONGODB ? BATCH / 2 : folder.startsWith('tests/e2e/') ? BATCH : 2 * BATCH;
    const size = Math.ceil(files.length / Math.ceil(files.length / most));
    return Array.from({ length: Math.ceil(files.length / size) }, (_, n) => ({
      files: files.slice(n * size, (n + 1) * size),
      needsMongo: folder === MONGODB,
      stores: process.env.TEST_STORES === 'eventstoredb' ? 'eventstoredb' : 'embedded',
    }));
  });
  if (process.env.TEST_STORES === undefined) parts.push(...overEventStoreDb(files));
  return parts.sort((a, b) => rank(a) - rank(b) || b.files.length - a.files.length);
};

/** A batch for each of the requested areas. */
const overEventStoreDb = (asked: readonly string[]): Batch[] =>
  OVER_EVENTSTOREDB.flatMap((area) => {
    const files = asked.filter((file) => file.startsWith(`tests/e2e/${area}/`));
    return files.length === 0 ? [] : [{ files, needsMongo: false, stores: 'eventstoredb' as const }];
  });

/**
 * Fills the cache of compiled modules: Node writes it only when a process exits normally, and tests kill most servers.
 */
const fillCompileCache = async (): Promise<void> => {
  await (await startServer()).stop();
  await cleanUp();
};

/** Prints the output of a batch when it has ended. A process that ends without an outcome has failed. */
const inChild = ({ files, stores }: Batch): Promise<Outcome> =>
  new Promise((resolve) => {
    const env = { ...process.env, TEST_STORES: stores };
    const child = fork(import.meta.filename, files, { env, stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const where = stores === 'eventstoredb' ? 'over EventStoreDB (test server): ' : '';
    const output: Buffer[] = [];
    let outcome: Outcome | undefined;
    child.stdout?.on('data', (data: Buffer) => output.push(data));
    child.stderr?.on('data', (data: Buffer) => output.push(data));
    child.on('message', (message: Outcome) => {
      outcome = message;
    });
    child.on('close', (code, signal) => {
      if (where !== '') process.stdout.write(`\n${where}${files.join(' ')}\n`);
      process.stdout.write(Buffer.concat(output));
      const died = `${files.join(' ')} ended with ${signal ?? code}\n`;
      const ended = outcome ?? { passed: 0, failed: 1, skipped: 0, failures: [died], times: [] };
      resolve({ ...ended, failures: ended.failures.map((failure) => where + failure) });
    });
  });

const runAll = async (under: readonly string[]): Promise<void> => {
  const queue = batches(under);
  const mongo = queue.some(({ needsMongo }) => needsMongo) ? prepareMongo() : undefined;
  await fillCompileCache();
  const total = { passed: 0, failed: 0, skipped: 0 };
  const reported: string[] = [];
  const measured: FileTimes[] = [];
  const worker = async (): Promise<void> => {
    for (let batch = queue.shift(); batch !== undefined; batch = queue.shift()) {
      if (batch.needsMongo) await mongo;
      const { passed, failed, skipped, failures, times } = await inChild(batch);
      reported.push(...failures);
      measured.push(...times);
      total.passed += passed;
      total.failed += failed;
      total.skipped += skipped;
    }
  };
  const processes = Number(process.env.TEST_PROCESSES ?? Math.min(availableParallelism() + 1, 4));
  await Promise.all(Array.from({ length: Math.max(processes, 1) }, worker));
  if (measured.length > 0) process.stdout.write(`\n${tableOf(measured)}\n`);
  for (const failure of reported) process.stdout.write(`\nFAILED ${failure}`);
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
};

// Servers log at every level, and each line is searched for credentials (`support/log-check.ts`).
process.env.TEST_LOG_LEVEL ??= 'trace';
// A compile cache halves the start of hundreds of processes that load the same modules.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/compiled');
const names = process.argv.slice(2);
await (process.send === undefined ? runAll(names.length === 0 ? ['tests'] : names) : runBatch(names));
