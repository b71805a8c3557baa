import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { noteEnvironment, watchOutput } from './log-check.ts';

/** The real server as a child process, on a port of its own and a data folder of its own (or a shared one). */

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
  // Loading the model takes half a second of the processor: tests of the assistant put it on.
  EMBEDDING_MODEL: 'off',
  PLATFORM_ADMIN_EMAIL: ROOT.email,
  PLATFORM_ADMIN_PASSWORD: ROOT.password,
  // A run of all tests searches all that can be logged for credentials (`log-check.ts`).
  ...(process.env.TEST_LOG_LEVEL === undefined ? {} : { LOG_LEVEL: process.env.TEST_LOG_LEVEL }),
};

/** What every child process of the tests gets. */
export const OF_CHILDREN: Readonly<Record<string, string | undefined>> = {
  PATH: process.env.PATH,
  ...(process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
};

export interface ServerOptions {
  /** Default: a new folder, removed by {@link removeDataFolders}. */
  readonly dataDir?: string;
  /** Put over the usual environment; undefined takes a variable away. */
  readonly env?: Readonly<Record<string, string | undefined>>;
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
  /** All that the process has written to standard output and standard error. */
  output(): string;
  /** SIGTERM; resolves when the process is gone. */
  stop(): Promise<Exit>;
  /** SIGKILL; resolves when the process is gone. */
  kill(): Promise<Exit>;
  /** Sends a signal and does not wait. */
  signal(signal: NodeJS.Signals): void;
  readonly exited: Promise<Exit>;
}

const folders: string[] = [];

export const newDataFolder = async (): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), 'platform-e2e-'));
  folders.push(folder);
  return folder;
};

const running = new Set<ChildProcess>();
// A run that is cut short must leave no server behind.
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** For `after` hooks: ends what still runs, and removes the folders. */
export const cleanUp = async (): Promise<void> => {
  for (const child of running) child.kill('SIGKILL');
  await Promise.all([...running].map((child) => new Promise((resolve) => child.once('exit', resolve))));
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
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

const START_MS = 60_000;
const MAIN = join(import.meta.dirname, '../../api/main.ts');

/** Runs `api/main.ts` and does not wait for it to listen. */
const launch = (dataDir: string, env: ServerOptions['env'] = {}) => {
  const variables: Record<string, string | undefined> = {
    ...OF_CHILDREN,
    ...ENVIRONMENT,
    DATA_DIR: dataDir,
    ...env,
  };
  const child = spawn(process.execPath, [MAIN], { env: variables, stdio: ['ignore', 'pipe', 'pipe'] });
  running.add(child);
  noteEnvironment(variables);
  const written = watchOutput();
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8');
    stream.on('data', (chunk: string) => written.wrote(chunk));
  }
  const exited = new Promise<Exit>((resolve) => {
    child.once('close', (code, signal) => {
      running.delete(child);
      written.ended();
      resolve({ code, signal });
    });
  });
  return { child, exited, output: written.text };
};

/** For starts that must fail. */
export const startAndExit = async (env: ServerOptions['env']): Promise<Exit & { output: string }> => {
  const { child, exited, output } = launch(await newDataFolder(), env);
  const timer = setTimeout(() => child.kill('SIGKILL'), START_MS);
  const exit = await exited;
  clearTimeout(timer);
  return { ...exit, output: output() };
};

export const startServer = async (options: ServerOptions = {}): Promise<Server> => {
  const dataDir = options.dataDir ?? (await newDataFolder());
  const { child, exited, output } = launch(dataDir, options.env);
  const base = await new Promise<string>((resolve, reject) => {
    const fail = (why: string): void => reject(new Error(`the server ${why}:\n${output()}`));
    const timer = setTimeout(() => fail('did not start in time'), START_MS);
    void exited.then(() => fail('ended at its start'));
    child.stdout.on('data', () => {
      const found = addressIn(output());
      if (found === undefined) return;
      clearTimeout(timer);
      resolve(found);
    });
  });
  const end = (signal: NodeJS.Signals): Promise<Exit> => {
    child.kill(signal);
    return exited;
  };
  return {
    base,
    port: Number(new URL(base).port),
    dataDir,
    pid: child.pid ?? 0,
    output,
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    signal: (signal) => void child.kill(signal),
    exited,
  };
};

/** Waits until `check` gives something else than undefined or false, and gives that. */
export const eventually = async <T>(
  what: string,
  check: () => Promise<T | undefined | false> | T | undefined | false,
  withinMs = 5000,
): Promise<T> => {
  const deadline = performance.now() + withinMs;
  for (;;) {
    const found = await check();
    if (found !== undefined && found !== false) return found;
    if (performance.now() > deadline) throw new Error(`${what}: not within ${withinMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 15));
  }
};

export const randomName = (prefix: string): string => `${prefix}_${randomBytes(5).toString('hex')}`;
