import { type Db, MongoClient, type MongoClientOptions } from 'mongodb';
import { CLIENT_OPTIONS, call } from './calls.ts';

export interface MongoOptions {
  /** A MongoDB connection string. The database is `dbName`, else the one named here, else `read_models`. */
  readonly url: string;
  readonly dbName?: string | undefined;
}

export interface OpenDatabase extends AsyncDisposable {
  readonly db: Db;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/** Like {@link openDatabase}, with writes acknowledged by a majority and journaled. */
export const openDurableDatabase = (options: MongoOptions): Promise<OpenDatabase> =>
  openDatabase(options, { ...CLIENT_OPTIONS, writeConcern: { w: 'majority', journal: true } });

/** @throws {StoreUnavailable} when the database does not answer */
export async function openDatabase(
  { url, dbName }: MongoOptions,
  clientOptions: MongoClientOptions = CLIENT_OPTIONS,
): Promise<OpenDatabase> {
  const client = new MongoClient(url, clientOptions);
  const db = client.db(dbName ?? databaseIn(url));
  const ping = (): Promise<void> =>
    call(async () => {
      await db.command({ ping: 1 });
    });
  try {
    await ping();
  } catch (error) {
    await client.close();
    throw error;
  }
  const close = (): Promise<void> => client.close();
  return { db, ping, close, [Symbol.asyncDispose]: close };
}

/**
 * The database that a connection string names. `new URL` cannot parse it: a connection string may name
 * several hosts.
 */
const databaseIn = (url: string): string =>
  /^mongodb(?:\+srv)?:\/\/[^/]+\/([^?]+)/.exec(url)?.[1] ?? 'read_models';
