import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Counts } from './counts.ts';
import type { Pace } from './state.ts';

/** A server of EventStoreDB's protocol in its own process, which tests can freeze and kill. */
export interface TestEventStoreDb {
  /** `esdb://…`, unchanged by a restart. */
  readonly url: string;
  counts(): Promise<Counts>;
  /** Changes its delays; resolves when they apply. */
  setPace(pace: Partial<Pace>): Promise<void>;
  /** Stops the process with SIGSTOP, like a machine that hangs. */
  freeze(): void;
  thaw(): void;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Restarts on the same port; with a log file, it has everything that it acknowledged. */
  restart(options?: { readonly readyAfterMs?: number }): Promise<void>;
  stop(): Promise<void>;
}

const MAIN = join(import.meta.dirname, 'main.ts');

/** @param path file of the log; undefined keeps it in memory, so that a restart begins empty */
export const startEventStoreDb = async (
  options: { readonly path?: string; readonly readyAfterMs?: number } = {},
): Promise<TestEventStoreDb> => {
  let child: ChildProcess;
  let port = 0;
  // A frozen child does not notice the end of its parent.
  process.on('exit', () => child.kill('SIGKILL'));
  const start = async (readyAfterMs = 0): Promise<void> => {
    child = fork(MAIN, [String(port), options.path ?? '', String(readyAfterMs)], { stdio: 'inherit' });
    const told = await toldBy(child, 'port');
    if (typeof told !== 'number') throw new Error('the test server did not start');
    port = told;
  };
  const kill = async (): Promise<void> => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  const ask = async (message: 'counts' | Partial<Pace>): Promise<Counts> => {
    const told = toldBy(child, 'counts');
    child.send(message);
    // The process sends an object of type `Counts`.
    return (await told) as Counts;
  };
  await start(options.readyAfterMs);
  return {
    get url() {
      return `esdb://127.0.0.1:${port}?tls=false&keepAliveInterval=-1`;
    },
    counts: () => ask('counts'),
    setPace: async (pace) => {
      await ask(pace);
    },
    freeze: () => child.kill('SIGSTOP'),
    thaw: () => child.kill('SIGCONT'),
    kill,
    restart: ({ readyAfterMs } = {}) => start(readyAfterMs),
    stop: async () => {
      if (child.exitCode === null && child.signalCode === null) await kill();
    },
  };
};

const toldBy = async (child: ChildProcess, name: 'port' | 'counts'): Promise<unknown> => {
  for (;;) {
    const told = new AbortController();
    const { signal } = told;
    const [message]: unknown[] = await Promise.race([
      once(child, 'message', { signal }),
      once(child, 'exit', { signal }).then(() => {
        throw new Error('the test server ended');
      }),
    ]).finally(() => told.abort());
    if (typeof message === 'object' && message !== null && name in message) {
      return Object.entries(message).find(([key]) => key === name)?.[1];
    }
  }
};
