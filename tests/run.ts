import { fork } from 'node:child_process';
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { dirname, resolve } from 'node:path';
import Mocha from 'mocha';

/**
 * `npm run test:all`: every test file, in batches of neighbours, each in a process of its own and several at a time;
 * what failed once more, and one closing line with the counts. Exits with 1 when anything failed or nothing ran.
 *
 * `TEST_PROCESSES` says how many at a time (default: as many as there are cores, at most 4).
 */

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

interface Outcome extends Counts {
  /** What failed, and how. */
  readonly failures: readonly string[];
}

/** Tests that start servers wait more than they compute; a machine that is shared by several needs patience. */
const TIMEOUT_MS = 40_000;
const BATCH = 8;
/** What of an error is shown once more at the end. */
const FAILURE_CHARACTERS = 1500;

/** Runs the files in this process and tells the parent. */
const runBatch = async (files: readonly string[]): Promise<void> => {
  const mocha = new Mocha({ timeout: TIMEOUT_MS, reporter: 'spec', forbidOnly: true });
  for (const file of files) mocha.addFile(file);
  await mocha.loadFilesAsync();
  const failures: string[] = [];
  const runner = mocha.run((failed) => {
    const { passes = 0, pending = 0 } = runner.stats ?? {};
    // Servers and handles that a test forgot must not keep a red or green run from ending.
    const outcome: Outcome = { passed: passes, failed, skipped: pending, failures };
    process.send?.(outcome, () => process.exit(0));
  });
  runner.on('fail', (test, error: unknown) => {
    const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
    failures.push(`${test.fullTitle()}\n${why.slice(0, FAILURE_CHARACTERS)}\n`);
  });
};

const batches = (): string[][] => {
  const folders = Map.groupBy(globSync('tests/**/*.test.ts').sort(), dirname);
  const parts = [...folders.values()].flatMap((files) => {
    const size = Math.ceil(files.length / Math.ceil(files.length / BATCH));
    return Array.from({ length: Math.ceil(files.length / size) }, (_, n) =>
      files.slice(n * size, (n + 1) * size),
    );
  });
  // Those that start servers take longest and come first, so that no core is idle at the end.
  const serves = (files: string[]): boolean => files.some((file) => file.includes('/e2e/'));
  return parts.sort((a, b) => Number(serves(b)) - Number(serves(a)));
};

/** What a batch wrote, and how it ended. One that died without a word has failed. */
const inChild = (files: readonly string[]): Promise<Outcome> =>
  new Promise((resolve) => {
    const child = fork(import.meta.filename, files, { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const output: Buffer[] = [];
    let outcome: Outcome | undefined;
    child.stdout?.on('data', (data: Buffer) => output.push(data));
    child.stderr?.on('data', (data: Buffer) => output.push(data));
    child.on('message', (message: Outcome) => {
      outcome = message;
    });
    child.on('close', (code, signal) => {
      process.stdout.write(Buffer.concat(output));
      const died = `${files.join(' ')} ended with ${signal ?? code}\n`;
      resolve(outcome ?? { passed: 0, failed: 1, skipped: 0, failures: [died] });
    });
  });

const runAll = async (): Promise<void> => {
  const queue = batches();
  const total = { passed: 0, failed: 0, skipped: 0 };
  const reported: string[] = [];
  const worker = async (): Promise<void> => {
    for (let files = queue.shift(); files !== undefined; files = queue.shift()) {
      const { passed, failed, skipped, failures } = await inChild(files);
      reported.push(...failures);
      total.passed += passed;
      total.failed += failed;
      total.skipped += skipped;
    }
  };
  const processes = Number(process.env.TEST_PROCESSES ?? Math.min(availableParallelism(), 4));
  await Promise.all(Array.from({ length: Math.max(processes, 1) }, worker));
  for (const failure of reported) process.stdout.write(`\nFAILED ${failure}`);
  process.stdout.write(`\n${total.passed} passed, ${total.failed} failed, ${total.skipped} skipped\n`);
  process.exitCode = total.failed > 0 || total.passed === 0 ? 1 : 0;
};

// Servers write all that they can: every line is searched for credentials (`support/log-check.ts`).
process.env.TEST_LOG_LEVEL ??= 'trace';
// The same modules are loaded by hundreds of processes: kept compiled, a server is there in half the time.
process.env.NODE_COMPILE_CACHE ??= resolve('node_modules/.cache/compiled');
const files = process.argv.slice(2);
await (files.length > 0 ? runBatch(files) : runAll());
