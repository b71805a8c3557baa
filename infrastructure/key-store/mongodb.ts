import { Binary, MongoBulkWriteError, MongoClient } from 'mongodb';
import type { KeyStore } from '../../application/ports/key-store.ts';
import {
  CLIENT_OPTIONS,
  call,
  databaseIn,
  isDuplicateKey,
  type Row,
  type Rows,
  whereId,
} from '../mongodb/calls.ts';

export interface MongoKeyStoreOptions {
  /** A MongoDB connection string. Its database is used unless `dbName` names another. */
  readonly url: string;
  readonly dbName?: string | undefined;
}

/**
 * Wrapped data keys in the collection `data_keys`, acknowledged by a majority and on disk. A destroyed key's
 * document stays, with `wrapped` null. (MongoDB's own files may hold an overwritten value for a while.)
 * @throws {StoreUnavailable}
 */
export async function openMongoKeyStore(options: MongoKeyStoreOptions): Promise<KeyStore> {
  const client = new MongoClient(options.url, {
    ...CLIENT_OPTIONS,
    writeConcern: { w: 'majority', journal: true },
  });
  const db = client.db(options.dbName ?? databaseIn(options.url));
  const keys = db.collection<Row>('data_keys', { readConcern: 'majority', readPreference: 'primary' });
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
  return {
    put: (added) =>
      call(() =>
        insertNew(
          keys,
          added.map(({ id, wrapped }) => ({ _id: id, wrapped: new Binary(wrapped) })),
        ),
      ),
    getMany: (keyIds) =>
      call(async () => {
        if (keyIds.length === 0) return [];
        const rows = await keys.find(whereId(keyIds)).toArray();
        const found = new Map(rows.map((row) => [row._id, wrappedIn(row)]));
        return keyIds.map((id) => found.get(id));
      }),
    destroy: (keyId) =>
      call(async () => {
        const tombstone = { $set: { wrapped: null } };
        try {
          await keys.updateOne({ _id: keyId }, tombstone, { upsert: true });
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
          // The key was put at the same moment; now it is there to be overwritten.
          await keys.updateOne({ _id: keyId }, tombstone);
        }
      }),
    replace: (keyId, from, to) =>
      call(async () => {
        const wrapped = { $set: { wrapped: new Binary(to) } };
        const { matchedCount } = await keys.updateOne({ _id: keyId, wrapped: new Binary(from) }, wrapped);
        return matchedCount > 0;
      }),
    ping,
    close: () => client.close(),
  };
}

/** Inserts what is not there yet, and leaves the rest as it is. */
async function insertNew(keys: Rows, rows: readonly Row[]): Promise<void> {
  if (rows.length === 0) return;
  try {
    await keys.insertMany(rows, { ordered: false });
  } catch (error) {
    if (!(error instanceof MongoBulkWriteError)) throw error;
    const foreign = [error.writeErrors].flat().some((failure) => failure.code !== 11000);
    if (foreign || error.result.getWriteConcernError() !== undefined) throw error;
  }
}

function wrappedIn(row: Row): Uint8Array | 'destroyed' {
  if (row.wrapped === null) return 'destroyed';
  if (row.wrapped instanceof Binary) return Uint8Array.from(row.wrapped.value());
  throw new TypeError('a stored data key is no binary');
}
