import { type Db, MongoClient } from 'mongodb';
import { CLIENT_OPTIONS, call, databaseIn } from './calls.ts';

export interface MongoOptions {
  /** A MongoDB connection string. Its database is used unless `dbName` names another. */
  readonly url: string;
  readonly dbName?: string | undefined;
}

export interface DurableDatabase {
  readonly db: Db;
  ping(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens the database with writes acknowledged by a majority and journaled.
 * @throws {StoreUnavailable} when it does not answer
 */
export async function openDurableDatabase({ url, dbName }: MongoOptions): Promise<DurableDatabase> {
  const client = new MongoClient(url, {
    ...CLIENT_OPTIONS,
    writeConcern: { w: 'majority', journal: true },
  });
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
  return { db, ping, close: () => client.close() };
}
