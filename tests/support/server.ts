import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { z } from 'zod';
import { productFile } from './bundle.ts';
import { startEventStoreDb, type TestEventStoreDb } from './eventstoredb/start.ts';
import { noteEnvironment, watchOutput } from './log-check.ts';
import { noteServerStart } from './times.ts';

/** The real server as a child process, with its own port and its own or a shared data folder. */

export const KEYS = {
  TENANT_JWT_SECRET: 'tenant-key-of-the-tests-0123456789abcdef',
  PLATFORM_JWT_SECRET: 'platform-key-of-the-tests-0123456789abcd',
  PARTNER_JWT_SECRET: 'partner-key-of-the-tests-0123456789abcde',
  PARTNER_EXCHANGE_SECRET: 'exchange-key-of-the-tests-0123456789abcd',
  MASTER_KEY: 'master-key-of-the-tests-0123456789abcdef',
} as const;

export const ROOT = { email: 'Root@Platform.example', password: 'the-root-password-1' } as const;

const ENVIRONMENT: Readonly<Record<string, string>> = {
  ...KEYS,
  PORT: '0',
  HOST: '127.0.0.1',
  DEMO: '0',
  RATE_LIMIT_PER_MINUTE: '0',
  LOGIN_LIMIT_PER_MINUTE: '0',
  // Off by default, since loading the model takes half a second of CPU; tests of the assistant enable it.
  EMBEDDING_MODEL: 'off',
  PLATFORM_ADMIN_EMAIL: ROOT.email,
  PLATFORM_ADMIN_PASSWORD: ROOT.password,
  // A run of all tests logs at the lowest level, and searches the logs for credentials (`log-check.ts`).
  ...(process.env.TEST_LOG_LEVEL === undefined ? {} : { LOG_LEVEL: process.env.TEST_LOG_LEVEL }),
};

/** The variables that differ from those of every server. */
export const unusual = (env: Readonly<Record<string, string>>): [string, string][] =>
  Object.entries(env).filter(([name, value]) => ENVIRONMENT[name] !== value);

/** Environment of every child process. */
export const OF_CHILDREN: Readonly<Record<string, string | undefined>> = {
  PATH: process.env.PATH,
  ...(process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
};

export interface ServerOptions {
  /** Default: a new folder, removed by {@link cleanUp}. */
  readonly dataDir?: string;
  /** Overrides of the usual environment; undefined removes a variable. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** The server's event store, regardless of `TEST_STORES`. The caller stops it. */
  readonly eventStore?: TestEventStoreDb;
  /** `api/main.ts` of another build, or {@link SOURCE}; default: the bundle of the run, if there is one. */
  readonly main?: string;
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface Server {
  readonly base: string;
  readonly port: number;
  readonly dataDir: string;
  readonly pid: number;
  /** The event store server that holds the events; undefined for the embedded store. */
  readonly eventStore: TestEventStoreDb | undefined;
  /** The process's standard output and standard error. */
  output(): string;
  /** SIGTERM; resolves when the process has ended. */
  stop(): Promise<Exit>;
  /** SIGKILL; resolves when the process has ended. */
  kill(): Promise<Exit>;
  /** Sends a signal without waiting. */
  signal(signal: NodeJS.Signals): void;
  readonly exited: Promise<Exit>;
}

const makeFolder = (): Promise<string> => mkdtemp(join(tmpdir(), 'platform-e2e-'));
const folders: string[] = [];

export const newDataFolder = async (): Promise<string> => {
  const folder = await makeFolder();
  folders.push(folder);
  return folder;
};

/** Whether servers use a test server of EventStoreDB instead of the embedded store. */
const isOverEventStoreDb = process.env.TEST_STORES === 'eventstoredb';

/** Event store servers by data folder. */
const eventStores = new Map<string, Promise<TestEventStoreDb>>();

const eventStoreOf = (dataDir: string, among = eventStores): Promise<TestEventStoreDb | undefined> => {
  if (!isOverEventStoreDb) return Promise.resolve(undefined);
  const starting = among.get(dataDir) ?? startEventStoreDb();
  among.set(dataDir, starting);
  return starting;
};

const variablesOf = (store: TestEventStoreDb | undefined): ServerOptions['env'] =>
  store === undefined ? {} : { EVENTSTORE_URL: store.url };

/** Running processes and their data folders. */
const running = new Map<ChildProcess, string>();
/** Servers of {@link startSharedServer} and their folders, which last until this process ends. */
const shared = {
  running: new Map<ChildProcess, string>(),
  folders: [] as string[],
  eventStores: new Map<string, Promise<TestEventStoreDb>>(),
};
// Leaves no server behind when a run is interrupted.
process.on('exit', () => {
  for (const child of [...running.keys(), ...shared.running.keys()]) child.kill('SIGKILL');
  for (const folder of shared.folders) rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
});

/** For `after` hooks: kills the running servers, except shared ones, and removes their folders. */
export const cleanUp = async (): Promise<void> => {
  // Processes that have ended stay in the map until their output is closed.
  const living = [...running.keys()].filter(({ exitCode, signalCode }) => (exitCode ?? signalCode) === null);
  for (const child of living) child.kill('SIGKILL');
  await Promise.all(living.map((child) => new Promise((resolve) => child.once('exit', resolve))));
  const stores = [...eventStores.values()];
  eventStores.clear();
  for (const store of stores) await (await store).stop();
  // Processes of a supervisor that was killed still write for a moment.
  for (const folder of folders.splice(0)) {
    await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
  }
};

const listening = z.object({ msg: z.literal('listening'), api: z.url() });

const addressIn = (output: string): string | undefined => {
  for (const line of output.split('\n')) {
    if (!line.includes('"listening"')) continue;
    const found = listening.safeParse(JSON.parse(line));
    if (found.success) return found.data.api;
  }
  return undefined;
};

const START_MS = 150_000;
/** With V8's default young generation of 1 MB, a start spends a tenth of its processor time on garbage collection. */
export const FEW_COLLECTIONS = ['--min-semi-space-size=16'];

/** The source that `npm start` loads with options of Node. Tests start it without options of Node. */
export const SOURCE = join(import.meta.dirname, '../../api/main.ts');
const MAIN = productFile('api/main.ts');

/** Starts `api/main.ts` without waiting until it listens. */
const launch = (dataDir: string, env: ServerOptions['env'] = {}, isShared = false, main = MAIN) => {
  const variables: Record<string, string | undefined> = {
    ...OF_CHILDREN,
    ...ENVIRONMENT,
    DATA_DIR: dataDir,
    ...env,
  };
  const child = spawn(process.execPath, [...(main === SOURCE ? [] : FEW_COLLECTIONS), main], {
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const among = isShared ? shared.running : running;
  among.set(child, dataDir);
  noteServerStart();
  noteEnvironment(variables);
  const written = watchOutput(isShared ? 'shared' : 'of one file');
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => written.wrote(chunk));
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      among.delete(child);
      written.ended();
      resolve({ code, signal });
    });
  });
  return { child, exited, output: written.text };
};

export const isInUse = (dataDir: string): boolean => [...running.values()].includes(dataDir);

/** Releases all leases in the folder after a kill, so that the next process does not wait for their expiry. */
export const freeLeases = (dataDir: string): void => {
  const path = join(dataDir, 'read-models.db');
  if (!existsSync(path)) return;
  const db = new DatabaseSync(path, { timeout: 5000 });
  db.exec('UPDATE leases SET owner = NULL, expires_at = 0');
  db.close();
};

/** For starts that must fail: returns the exit. */
export const startAndExit = async (env: ServerOptions['env']): Promise<Exit & { output: string }> => {
  const { child, exited, output } = launch(await newDataFolder(), env);
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  const exit = await exited;
  clearTimeout(timer);
  return { ...exit, output: output() };
};

/** Waits for the address in the server's log. */
const serverOf = async (
  { child, exited, output }: ReturnType<typeof launch>,
  dataDir: string,
  eventStore: TestEventStoreDb | undefined,
) => {
  const base = await new Promise<string>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`the server ${why}:\n${output()}`));
    const timer = setTimeout(() => fail('did not start in time'), START_MS);
    void exited.then(() => fail('ended at its start'));
    const look = (): void => {
      const found = addressIn(output());
      if (found === undefined) return;
      clearTimeout(timer);
      child.stdout.off('data', look);
      resolve(found);
    };
    child.stdout.on('data', look);
  });
  return { base, port: Number(new URL(base).port), dataDir, eventStore, pid: child.pid ?? 0, output, exited };
};

export const startServer = async (options: ServerOptions = {}): Promise<Server> => {
  const dataDir = options.dataDir ?? (await newDataFolder());
  const eventStore = options.eventStore ?? (await eventStoreOf(dataDir));
  const env = { ...variablesOf(eventStore), ...options.env };
  const launched = launch(dataDir, env, false, options.main);
  const { child, exited } = launched;
  const end = (signal: NodeJS.Signals): Promise<Exit> => {
    child.kill(signal);
    return exited;
  };
  return {
    ...(await serverOf(launched, dataDir, eventStore)),
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    signal: (signal) => void child.kill(signal),
  };
};

/**
 * A server for several test files, which none of them may end. It runs until the test process ends.
 * @param beside another server, whose data the new server shares
 */
export const startSharedServer = async (env: ServerOptions['env'], beside?: Server): Promise<Server> => {
  const dataDir = beside?.dataDir ?? (await makeFolder());
  if (beside === undefined) shared.folders.push(dataDir);
  const refuse = (): never => {
    throw new Error('This server is shared: a test that ends its server starts one with startWorld().');
  };
  const eventStore = await eventStoreOf(dataDir, shared.eventStores);
  const launched = launch(dataDir, { ...variablesOf(eventStore), ...env }, true);
  const server = await serverOf(launched, dataDir, eventStore);
  return { ...server, stop: refuse, kill: refuse, signal: refuse };
};

/** Shortest limit of {@link eventually}: only tests that fail wait so long, and a busy machine is slow. */
const LEAST_WAIT_MS = 60_000;

/** Most checks are requests, so a long wait repeats them less often: a wait takes at most a tenth longer for it. */
const pollMs = (waited: number): number => Math.min(15 + waited / 10, 150);

/**
 * Waits until `check` returns something other than undefined or false, and returns it.
 * @param what names the condition for the failure; a function tells what was seen last
 */
export const eventually = async <T>(
  what: string | (() => string),
  check: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 30_000,
): Promise<T> => {
  const start = performance.now();
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    const waited = performance.now() - start;
    if (waited > Math.max(withinMs, LEAST_WAIT_MS))
      throw new Error(`${typeof what === 'string' ? what : what()}: not in time`);
    await new Promise((resolve) => setTimeout(resolve, pollMs(waited)));
  }
};

export const randomName = (prefix: string): string => `${prefix}_${randomBytes(5).toString('hex')}`;
