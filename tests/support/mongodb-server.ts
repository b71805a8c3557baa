import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { MongoClient } from 'mongodb';
import { buildFerretDb } from './ferretdb/build.ts';

/** A server for tests of the MongoDB adapters. */
export interface MongoServer {
  /** Connection string of the server. */
  readonly url: string;
  readonly kind: 'mongodb' | 'ferretdb';
  /** Ends FerretDB when all its users have called this; does not end the server at `MONGODB_URL`. */
  stop(): Promise<void>;
}

export interface NoMongoServer {
  readonly unavailable: string;
}

let shared: Promise<MongoServer> | undefined;
let users = 0;

/**
 * The server at `MONGODB_URL`; otherwise FerretDB 1.24, which speaks MongoDB's protocol. FerretDB is built with Go
 * (about half a minute the first time, then cached) and shared by all suites of the process.
 */
export async function startMongo(): Promise<MongoServer | NoMongoServer> {
  const url = process.env.MONGODB_URL;
  if (url !== undefined && url !== '') return { url, kind: 'mongodb', stop: async () => undefined };
  users += 1;
  shared ??= buildFerretDb().then(start);
  try {
    const server = await shared;
    return { ...server, stop: () => release(server) };
  } catch (error) {
    return { unavailable: `MONGODB_URL is not set, and FerretDB cannot be had: ${reason(error)}` };
  }
}

async function release(server: MongoServer): Promise<void> {
  users -= 1;
  if (users > 0) return;
  shared = undefined;
  await server.stop();
}

function reason(error: unknown): string {
  if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return 'go is not on the PATH';
  const text = error instanceof Error ? error.message : String(error);
  return text.trim().split('\n').slice(0, 3).join(' ').slice(0, 300);
}

/** Builds FerretDB unless it is built: `tests/run.ts` calls this first, so that suites do not wait for it. */
export async function prepareMongo(): Promise<void> {
  if ((process.env.MONGODB_URL ?? '') !== '') return;
  // On failure, each suite that needs the server reports a skipped test.
  await buildFerretDb().catch(() => undefined);
}

/** A FerretDB for one suite, which its tests may freeze and kill. */
export interface OwnMongo {
  readonly url: string;
  readonly pid: number | undefined;
  freeze(): void;
  thaw(): void;
  /** `kill -9`. */
  kill(): Promise<void>;
  /** Restarts on the same port and data. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

export async function startOwnMongo(): Promise<OwnMongo | NoMongoServer> {
  try {
    return await keepRunning(await buildFerretDb());
  } catch (error) {
    return { unavailable: `FerretDB cannot be had: ${reason(error)}` };
  }
}

async function start(binary: string): Promise<MongoServer> {
  const { url, stop } = await keepRunning(binary);
  return { url, kind: 'ferretdb', stop };
}

/** FerretDB sometimes crashes by itself. It is then restarted on its port and data, so that a crash fails few tests. */
async function keepRunning(binary: string): Promise<OwnMongo> {
  const folder = await mkdtemp(join(tmpdir(), 'ferretdb-'));
  const port = await freePort();
  let isWanted = true;
  let child = await launch(binary, folder, port);
  let started: Promise<void> = Promise.resolve();
  const restart = async (): Promise<void> => {
    isWanted = true;
    child = await launch(binary, folder, port);
    restartAfterCrash();
  };
  const restartAfterCrash = (): void => {
    child.once('exit', (code, signal) => {
      if (!isWanted) return;
      console.log(`      FerretDB ended by itself (${signal ?? code}) and is started again`);
      started = restart().catch((error: unknown) =>
        console.log(`      it cannot be started again: ${reason(error)}`),
      );
    });
  };
  restartAfterCrash();
  const kill = async (): Promise<void> => {
    isWanted = false;
    await started;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    if (child.exitCode !== null || child.signalCode !== null) return;
    child.kill('SIGKILL');
    await ended;
  };
  return {
    url: `mongodb://127.0.0.1:${port}`,
    get pid() {
      return child.pid;
    },
    freeze: () => void child.kill('SIGSTOP'),
    thaw: () => void child.kill('SIGCONT'),
    kill,
    restart,
    stop: async () => {
      await kill();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** Reduces Go's garbage collection, which takes a third of FerretDB's processor time by default. */
const MEMORY = { GOGC: '800', GOMEMLIMIT: '768MiB' };

async function launch(binary: string, folder: string, port: number) {
  // The server stops when this process ends in any way, since its standard input is then closed.
  const child = spawn(binary, [folder, `127.0.0.1:${port}`], {
    env: { ...process.env, ...MEMORY },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const kill = (): void => void child.kill('SIGKILL');
  process.once('exit', kill);
  child.once('exit', () => process.off('exit', kill));
  try {
    await listening(child);
  } catch (error) {
    kill();
    throw error;
  }
  child.stdout?.resume();
  // The child must not keep the process alive.
  child.unref();
  return child;
}

function listening(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) => reject(new Error(`FerretDB ended with ${code} before it listened`)));
    child.stdout?.on('data', (chunk: Buffer) => {
      if (chunk.toString().includes('listening')) resolve();
    });
  });
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === 'string') throw new Error('no port to be had');
  return address.port;
}

/** A separate database on the server, dropped by `dispose`. */
export interface TestDatabase {
  readonly url: string;
  readonly dbName: string;
  /** The connection string with the database's name, for `MONGODB_URL` of a tested server. */
  readonly databaseUrl: string;
  dispose(): Promise<void>;
  readonly kind: MongoServer['kind'];
}

/**
 * Declares a suite that needs a server; without one, a pending test whose title has the reason. Awaited at the top
 * level of a test file, since titles must be known before the tests run.
 */
export async function describeWithMongo(
  suite: string,
  declare: (title: string, start: () => TestDatabase) => void,
): Promise<void> {
  const server = await startMongo();
  if ('unavailable' in server) {
    describe(`${suite}: MongoDB`, () => {
      it(`SKIPPED, the MongoDB adapter was not tested: ${server.unavailable}`);
    });
    return;
  }
  declare(`MongoDB adapter on ${server.kind}`, () => {
    const dbName = `test_${randomUUID().slice(0, 8)}`;
    return {
      url: server.url,
      dbName,
      kind: server.kind,
      databaseUrl: withDatabase(server.url, dbName),
      async dispose() {
        const client = new MongoClient(server.url);
        await client.db(dbName).dropDatabase();
        await client.close();
        await server.stop();
      },
    };
  });
}

/** The same connection string with another database. Does not use `URL`, since the string may have several hosts. */
function withDatabase(url: string, dbName: string): string {
  const [, hosts, query = ''] = /^(mongodb(?:\+srv)?:\/\/[^/?]+)(?:\/[^?]*)?(\?.*)?$/.exec(url) ?? [];
  if (hosts === undefined) throw new Error('MONGODB_URL is no connection string');
  return `${hosts}/${dbName}${query}`;
}
