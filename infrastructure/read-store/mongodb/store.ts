import {
  type Cursor,
  type FindResult,
  type GenerationId,
  type ListedDoc,
  leaseNameOf,
  type ReadStore,
  type StoredDoc,
} from '../../../application/ports/read-store.ts';
import { call, type Row, whereId } from '../../mongodb/calls.ts';
import { type MongoOptions, type OpenDatabase, openDatabase } from '../../mongodb/database.ts';
import { planNamed } from '../index-keys.ts';
import { claimedLeases } from './claimed-leases.ts';
import { orderedCommits, transactionalCommits } from './commits.ts';
import { rowId, toStoredDoc } from './documents.ts';
import { fieldIndexOf } from './field-index.ts';
import { findEntries } from './find.ts';
import { findIn, findTogether } from './find-together.ts';
import { type Abilities, mongoGenerations, type OpenCollection } from './generations.ts';
import { knowsPipelines, type Leases, pipelineLeases } from './leases.ts';
import { listRows } from './list.ts';
import { mongoProgress } from './progress.ts';
import { countRows, type FoundIds, searchIds, searchPage } from './search.ts';
import { transactionsOf } from './transactions.ts';

interface MongoReadStoreOptions extends MongoOptions {
  /** For tests: replaces detected abilities of the server. */
  readonly abilities?: Partial<Abilities> | undefined;
  /** For tests: called between the documents and the checkpoint of a batch. */
  readonly beforeCheckpoint?: (() => Promise<void>) | undefined;
}

/**
 * Read models in MongoDB. Detects once whether the server has multi-document transactions and update pipelines
 * (FerretDB 1.x has neither).
 * @throws {StoreUnavailable}
 */
export async function openMongoReadStore(options: MongoReadStoreOptions): Promise<ReadStore> {
  const opened = await openDatabase(options);
  try {
    return await readStore(opened, options);
  } catch (error) {
    await opened.close();
    throw error;
  }
}

async function readStore(
  { db, ping, close }: OpenDatabase,
  { beforeCheckpoint = async () => undefined, abilities }: MongoReadStoreOptions,
): Promise<ReadStore> {
  const complete = await call(() => knowsPipelines(db));
  const transactions = await call(() => transactionsOf(db));
  const indexFields = complete ? await call(() => fieldIndexOf(db)) : undefined;
  const leases: Leases = complete ? pipelineLeases(db) : claimedLeases(db);
  const generations = mongoGenerations(db, {
    ttlIndexes: complete,
    nestedArrays: complete,
    indexFields,
    ...abilities,
  });
  const deps = { generations, leases, beforeCheckpoint };
  const commit =
    transactions === undefined ? orderedCommits(deps, !complete) : transactionalCommits(deps, transactions);

  /** @param absent the answer for a generation that was never prepared, or was dropped */
  const inCollection = <T>(
    generation: GenerationId,
    name: string,
    absent: T,
    read: (collection: OpenCollection) => T | Promise<T>,
  ): Promise<T> =>
    call(async () => {
      const collection = await generations.open(generation, name);
      return collection === undefined ? absent : read(collection);
    });

  return {
    ...mongoProgress(db, generations, leases),
    prepare: (generation, collections) => call(() => generations.prepare(generation, collections)),
    load: (generation, keys) =>
      call(async () => {
        const wanted = Map.groupBy(keys, (key) => key.collection);
        const found = new Map<string, Row>();
        for (const [name, each] of wanted) {
          const collection = await generations.open(generation, name);
          if (collection === undefined) continue;
          const ids = each.map((key) => rowId(key.tenant, key.id));
          const projection = { value: 1, position: 1 };
          for (const row of await collection.rows.find(whereId(ids), { projection }).toArray()) {
            found.set(`${name}\n${row._id}`, row);
          }
        }
        return keys.map(({ collection, tenant, id }) =>
          toStoredDoc(found.get(`${collection}\n${rowId(tenant, id)}`)),
        );
      }),
    get: (generation, { collection, tenant, id }) =>
      inCollection<StoredDoc | undefined>(generation, collection, undefined, async ({ rows }) =>
        toStoredDoc(await rows.findOne({ _id: rowId(tenant, id) })),
      ),
    find: (generation, query) => call(() => findIn(generations, generation, query)),
    entries: (generation, query) =>
      inCollection<readonly Cursor[]>(generation, query.collection, [], ({ rows, indexes }) =>
        findEntries(rows, planNamed(indexes, query).plan, query),
      ),
    findAll: (generation, queries) =>
      call(() => findTogether(generations, transactions, generation, queries)),
    search: (generation, query) =>
      inCollection<FindResult>(generation, query.collection, { docs: [] }, (opened) =>
        searchPage(opened, query),
      ),
    ids: (generation, query) =>
      inCollection<FoundIds>(generation, query.collection, { ids: [] }, (opened) => searchIds(opened, query)),
    count: (generation, selection) =>
      inCollection(generation, selection.collection, 0, (opened) => countRows(opened, selection)),
    commit: (batch) => call(() => commit(batch)),
    list: (generation, name, after, limit) =>
      inCollection<ListedDoc[]>(generation, name, [], (opened) => listRows(opened, after, limit)),
    generations: (projection) => call(() => generations.tags(projection)),
    drop: (generation) =>
      call(async () => {
        await generations.drop(generation);
        await db.collection<Row>('meta_parked').deleteMany({ lease: leaseNameOf(generation) });
      }),
    ping,
    close,
  };
}
