import { Binary, type Filter } from 'mongodb';
import { z } from 'zod';
import type { CorpusSource, CorpusStore, SourceKey } from '../../application/ports/corpus-store.ts';
import { call, isDuplicateKey, isRefusal, type Row, type Rows, rowsById, textIn } from '../mongodb/calls.ts';
import { type MongoOptions, openDatabase } from '../mongodb/database.ts';
import { bytesOf, changeRow, keyRow, runRow, sourceOf, summaryOf } from './rows.ts';

/**
 * Longest time (ms) from the draw of a sequence number until its document is visible: the timeout of an operation
 * (`call`), and a reserve.
 */
const SETTLES_WITHIN_MS = 12_000;

const idOf = (tenantId: string, { kind, id }: SourceKey): string => `${tenantId}/${kind}/${id}`;

/**
 * Stores the corpus in the collection `corpus_sources`, one document per source, so that a source's chunks are
 * replaced atomically without a transaction.
 * @throws {StoreUnavailable}
 */
export const openMongoCorpusStore = async (options: MongoOptions): Promise<CorpusStore> => {
  const { db, close } = await openDatabase(options);
  const sources: Rows = db.collection<Row>('corpus_sources', { readPreference: 'primary' });
  const counters = db.collection<{ _id: string; seq: number }>('corpus_counters', {
    readPreference: 'primary',
  });
  const backfills: Rows = db.collection<Row>('corpus_backfills', { readPreference: 'primary' });
  try {
    await call(async () => {
      await sources.createIndex({ tenant: 1, seq: 1 });
      await sources.createIndex({ tenant: 1, parent: 1 });
      await sources.createIndex({ model: 1, buried: 1, _id: 1 });
    });
  } catch (error) {
    if (!isRefusal(error)) {
      await close();
      throw error;
    }
  }

  const nextSeq = async (tenantId: string): Promise<number> => {
    const draw = () =>
      counters.findOneAndUpdate(
        { _id: tenantId },
        { $inc: { seq: 1 } },
        { upsert: true, returnDocument: 'after', includeResultMetadata: false },
      );
    // A duplicate key: another process has just created the tenant's counter.
    const row = await draw().catch((error: unknown) => {
      if (!isDuplicateKey(error)) throw error;
      return draw();
    });
    if (row === null) throw new TypeError('a counter was not made');
    return row.seq;
  };

  /** Writes a source or its tombstone unless the stored document is at a later revision. */
  const replace = async (
    tenantId: string,
    key: SourceKey,
    revision: string,
    fields: Omit<Row, '_id'>,
    upsert: boolean,
  ): Promise<boolean> => {
    const seq = await nextSeq(tenantId);
    const _id = idOf(tenantId, key);
    const where: Filter<Row> = { _id, revision: { $lte: revision } };
    const change = { $set: { ...fields, tenant: tenantId, kind: key.kind, id: key.id, revision, seq } };
    try {
      const { matchedCount, upsertedCount } = await sources.updateOne(where, change, { upsert });
      return matchedCount + upsertedCount > 0;
    } catch (error) {
      if (!isDuplicateKey(error)) throw error;
      // The document exists: either it is at a later revision, or another process has just inserted it.
      const { matchedCount } = await sources.updateOne(where, change);
      return matchedCount > 0;
    }
  };

  const put = (tenantId: string, source: CorpusSource): Promise<boolean> => {
    const { parent, title, model, chunks } = source;
    const vectors = bytesOf(source);
    const fields = {
      buried: false,
      parent,
      title,
      model,
      hashes: chunks.map(({ hash }) => hash),
      texts: chunks.map(({ text }) => text),
      vectors: vectors === undefined ? null : new Binary(vectors),
    };
    return call(() => replace(tenantId, source, source.revision, fields, true));
  };

  const rowsOf = async (tenantId: string, keys: readonly SourceKey[], without: readonly string[]) => {
    const projection = Object.fromEntries(without.map((field) => [field, 0]));
    const ids = keys.map((key) => idOf(tenantId, key));
    return call(() => rowsById(sources, ids, { projection }));
  };

  return {
    settlesWithin: SETTLES_WITHIN_MS,
    summaries: async (tenantId, keys) => {
      const rows = await rowsOf(tenantId, keys, ['texts', 'vectors']);
      return keys.map((key) => summaryOf(key, rows.get(idOf(tenantId, key))));
    },
    put: async (tenantId, all) => {
      const stored: boolean[] = [];
      for (const source of all) stored.push(await put(tenantId, source));
      return stored;
    },
    advance: (tenantId, key, from, to) =>
      call(async () => {
        const where = { _id: idOf(tenantId, key), revision: from, buried: false };
        return (await sources.updateOne(where, { $set: { revision: to } })).matchedCount > 0;
      }),
    isEmpty: (tenantId) =>
      call(
        async () =>
          (await sources.findOne({ tenant: tenantId }, { projection: { tenant: 1, _id: 0 } })) === null,
      ),
    putTombstone: async (tenantId, key, revision, ifPresent) => {
      const nothing = { buried: true, parent: null, title: '', model: null, hashes: [], texts: [] };
      await call(() => replace(tenantId, key, revision, { ...nothing, vectors: null }, !ifPresent));
    },
    attachmentsOf: (tenantId, recordId) =>
      call(async () => {
        const where = { tenant: tenantId, parent: recordId, buried: false };
        const rows = await sources.find(where, { projection: { id: 1 } }).toArray();
        return rows.map((row) => textIn(row, 'id'));
      }),
    changes: (tenantId, after) =>
      call(async () => {
        const projection = { kind: 1, id: 1, seq: 1, buried: 1 };
        const where = { tenant: tenantId, seq: { $gt: after } };
        const rows = await sources.find(where, { projection }).sort({ seq: 1 }).toArray();
        return z.array(changeRow).parse(rows);
      }),
    load: async (tenantId, keys) => {
      const rows = await rowsOf(tenantId, keys, []);
      return keys.map((key) => {
        const row = rows.get(idOf(tenantId, key));
        if (row === undefined || row.buried === true) return undefined;
        return sourceOf(key, row, row.vectors instanceof Binary ? row.vectors.value() : undefined);
      });
    },
    withoutVectors: (limit) =>
      call(async () => {
        const where = { model: null, buried: false, 'hashes.0': { $exists: true } };
        const projection = { tenant: 1, kind: 1, id: 1 };
        const rows = await sources.find(where, { projection }).sort({ _id: 1 }).limit(limit).toArray();
        return z.array(keyRow).parse(rows);
      }),
    backfillRun: (tenantId) =>
      call(async () => {
        const row = await backfills.findOne({ _id: tenantId });
        return row === null ? undefined : runRow.parse(row);
      }),
    saveBackfillRun: (tenantId, { run, counts }) =>
      call(async () => {
        await backfills.updateOne({ _id: tenantId }, { $set: { run, counts } }, { upsert: true });
      }),
    close,
  };
};
