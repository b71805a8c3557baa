import { fork } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import Mocha, { type Hook, type Test } from 'mocha';
import { bundleProduct } from './support/bundle.ts';
import { prepareMongo } from './support/mongodb-server.ts';
import { cleanUp, FEW_COLLECTIONS, startServer } from './support/server.ts';
import { type FileTimes, measureFiles, tableOf } from './support/times.ts';

/**
 * `npm run test:all`: runs every test file, in batches of neighbouring files, each batch in its own process and several
 * at a time. Prints the failures again at the end, then one line with the counts. Exits with 1 when a test failed or
 * none passed.
 *
 * `npm run test:all -- tests/e2e/ledger` runs a folder; several folders and files may be given. `TEST_PROCESSES` is
 * the number of processes at a time (default: two more than there are cores, at most 6, since tests wait for servers
 * and timers). `TEST_TIMES=1` prints the processor time and the server starts of each file. With
 * `TEST_STORES=eventstoredb`, all servers keep their events on the test server of EventStoreDB instead of the embedded
 * store; without it, only the files in `OVER_EVENTSTOREDB` run over both.
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
/** Files of a batch share servers (see `sharedWorld`), loaded modules and the OpenAPI document. */
const BATCH = 24;
/** Files of a batch outside `tests/e2e`: their tests are short. */
const LARGE_BATCH = 40;
const MONGODB = 'MongoDB';
const E2E = 'tests/e2e';
const SIMULATION = 'tests/simulation';
/** Characters of an error that are printed again at the end. */
const FAILURE_CHARACTERS = 1500;

/** Raises the limit of a test or hook to at least {@link TIMEOUT_MS}, since other batches slow it down. */
const allowTime = (one: Test | Hook): void => {
  one.timeout(Math.max(one.timeout(), TIMEOUT_MS));
};

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
  runner.on('test', allowTime);
  runner.on('hook', allowTime);
  runner.on('fail', (test, error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    failures.push(`${test.fullTitle()}\n${why.slice(0, FAILURE_CHARACTERS)}\n`);
  });
};

/** The longest batches first, so that no core is idle at the end. Those with MongoDB wait until its server is built. */
const FIRST = [SIMULATION, E2E, MONGODB, 'tests/client', 'tests/property', 'tests/contract'];

const rank = ({ files, needsMongo }: Batch): number => {
  const folder = needsMongo ? MONGODB : (files[0] ?? '');
  const found = FIRST.findIndex((first) => folder.startsWith(first));
  return found < 0 ? FIRST.length : found;
};

/**
 * Files that also run over EventStoreDB's test server: the main path of each area that depends on the log, and tests
 * of several processes and replays, which depend on how a store answers. Kills with several nodes are in
 * `tests/e2e/stores`.
 */
const OVER_EVENTSTOREDB = [
  'messaging/messages',
  'messaging/unread',
  'websocket/envelopes',
  'websocket/replay',
  'bulk/commits',
  'ledger/entries',
  'ledger/processes',
  'webhooks/deliveries',
  'webhooks/processes',
].map((name) => `tests/e2e/${name}.test.ts`);

type Stores = 'embedded' | 'eventstoredb';

interface Batch {
  readonly files: readonly string[];
  readonly needsMongo: boolean;
  readonly stores: Stores;
}

/** `tests/e2e`, or another folder of `tests`. */
const layerOf = (file: string): string => dirname(file).split('/').slice(0, 2).join('/');

/** Most files of a batch: a run of the simulation keeps a core busy for a minute. */
const mostOf = (layer: string): number => {
  if (layer === SIMULATION) return 1;
  if (layer === MONGODB) return BATCH / 2;
  return layer === E2E ? BATCH : LARGE_BATCH;
};

const needsMongo = (file: string): boolean => readFileSync(file, 'utf8').includes('support/mongodb-');

/** Files that need MongoDB are in smaller batches of their own, each of which starts a server. */
const batches = (under: readonly string[]): Batch[] => {
  const files = under
    .flatMap((path) => (path.endsWith('.test.ts') ? path : globSync(`${path}/**/*.test.ts`)))
    .sort();
  const layers = Map.groupBy(files, (file) => (needsMongo(file) ? MONGODB : layerOf(file)));
  const parts = [...layers].flatMap(([layer, files]): Batch[] => {
    const size = Math.ceil(files.length / Math.ceil(files.length / mostOf(layer)));
    return Array.from({ length: Math.ceil(files.length / size) }, (_, n) => ({
      files: files.slice(n * size, (n + 1) * size),
      needsMongo: layer === MONGODB,
      stores: process.env.TEST_STORES === 'eventstoredb' ? 'eventstoredb' : 'embedded',
    }));
  });
  const over = files.filter((file) => OVER_EVENTSTOREDB.includes(file));
  if (process.env.TEST_STORES === undefined && over.length > 0) {
    parts.push({ files: over, needsMongo: false, stores: 'eventstoredb' });
  }
  return parts.sort((a, b) => rank(a) - rank(b) || b.files.length - a.files.length);
};

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
    const child = fork(import.meta.filename, files, {
      env,
      execArgv: FEW_COLLECTIONS,
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
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
  process.env.TEST_BUNDLE ??= await bundleProduct();
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
  const processes = Number(process.env.TEST_PROCESSES ?? Math.min(availableParallelism() + 2, 6));
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
