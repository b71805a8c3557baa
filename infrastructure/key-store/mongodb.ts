import { Binary } from 'mongodb';
import type { KeyStore } from '../../application/ports/key-store.ts';
import { call, duplicatesOf, isDuplicateKey, type Row, rowsById } from '../mongodb/calls.ts';
import { type MongoOptions, openDurableDatabase } from '../mongodb/database.ts';

/**
 * Wrapped data keys in the collection `data_keys`, acknowledged by a majority and journaled. The document of
 * a destroyed key stays, with `wrapped` null. (MongoDB's own files may hold an overwritten value for a
 * while.)
 * @throws {StoreUnavailable}
 */
export async function openMongoKeyStore(options: MongoOptions): Promise<KeyStore> {
  const { db, ping, close } = await openDurableDatabase(options);
  const keys = db.collection<Row>('data_keys', { readConcern: 'majority', readPreference: 'primary' });
  return {
    put: (added) =>
      call(async () => {
        if (added.length === 0) return;
        const rows = added.map(({ id, wrapped }) => ({ _id: id, wrapped: new Binary(wrapped) }));
        // An existing key is left unchanged.
        await keys.insertMany(rows, { ordered: false }).catch((error: unknown) => duplicatesOf(error, rows));
      }),
    getMany: (keyIds) =>
      call(async () => {
        const rows = await rowsById(keys, keyIds);
        return keyIds.map((id) => {
          const row = rows.get(id);
          return row && wrappedIn(row);
        });
      }),
    destroy: (keyId) =>
      call(async () => {
        const tombstone = { $set: { wrapped: null } };
        try {
          await keys.updateOne({ _id: keyId }, tombstone, { upsert: true });
        } catch (error) {
          if (!isDuplicateKey(error)) throw error;
          // The key was inserted concurrently and can now be overwritten.
          await keys.updateOne({ _id: keyId }, tombstone);
        }
      }),
    replace: (keyId, from, to) =>
      call(async () => {
        const wrapped = { $set: { wrapped: new Binary(to) } };
        const { matchedCount } = await keys.updateOne({ _id: keyId, wrapped: new Binary(from) }, wrapped);
        return matchedCount > 0;
      }),
    list: async function* () {
      for await (const row of keys.find({})) yield { id: row._id, wrapped: wrappedIn(row) };
    },
    ping,
    close,
  };
}

function wrappedIn(row: Row): Uint8Array | 'destroyed' {
  if (row.wrapped === null) return 'destroyed';
  if (row.wrapped instanceof Binary) return Uint8Array.from(row.wrapped.value());
  throw new TypeError('a stored data key is no binary');
}
