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
  /** Changes the server's delays; resolves when they apply. */
  setPace(pace: Partial<Pace>): Promise<void>;
  /** Stops the process with SIGSTOP, like a machine that hangs. */
  freeze(): void;
  thaw(): void;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Restarts on the same port; a server with a log file keeps all events that it acknowledged. */
  restart(options?: { readonly readyAfterMs?: number }): Promise<void>;
  stop(): Promise<void>;
}

const running = new Set<ChildProcess>();
// A frozen child does not notice the end of its parent.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});
const keepUntilExit = (child: ChildProcess): void => {
  running.add(child);
  child.once('exit', () => running.delete(child));
};

const MAIN = join(import.meta.dirname, 'main.ts');

/** @param path file of the log; undefined keeps it in memory, so that a restart begins empty */
export const startEventStoreDb = async (
  options: { readonly path?: string; readonly readyAfterMs?: number } = {},
): Promise<TestEventStoreDb> => {
  let child: ChildProcess;
  let told: Told;
  let port = 0;
  const start = async (readyAfterMs = 0): Promise<void> => {
    child = fork(MAIN, [String(port), options.path ?? '', String(readyAfterMs)], { stdio: 'inherit' });
    keepUntilExit(child);
    told = answersOf(child);
    port = await told('port');
  };
  const kill = async (): Promise<void> => {
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  const ask = async (message: 'counts' | Partial<Pace>): Promise<Counts> => {
    const answer = told('counts');
    child.send(message);
    return answer;
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

interface Answers {
  readonly port: number;
  readonly counts: Counts;
}
type Told = <Name extends keyof Answers>(name: Name) => Promise<Answers[Name]>;

/** The process answers in the order in which it is asked; its port is its first answer. */
const answersOf = (child: ChildProcess): Told => {
  const waiting: { take(message: Partial<Answers>): void; end(): void }[] = [];
  child.on('message', (message: Partial<Answers>) => waiting.shift()?.take(message));
  child.on('exit', () => {
    for (const { end } of waiting.splice(0)) end();
  });
  return (name) =>
    new Promise((resolve, reject) => {
      waiting.push({
        take: (message) => {
          const answer = message[name];
          if (answer === undefined) reject(new Error(`the test server did not tell its ${name}`));
          else resolve(answer);
        },
        end: () => reject(new Error('the test server ended')),
      });
    });
};
