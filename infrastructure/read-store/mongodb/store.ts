import { type Db, MongoClient } from 'mongodb';
import { leaseNameOf, type ReadStore } from '../../../application/ports/read-store.ts';
import { CLIENT_OPTIONS, call, databaseIn, type Row, whereId } from '../../mongodb/calls.ts';
import { planNamed } from '../index-keys.ts';
import { claimedLeases } from './claimed-leases.ts';
import { orderedCommits, transactionalCommits } from './commits.ts';
import { rowId, toStoredDoc } from './documents.ts';
import { fieldIndexOf } from './field-index.ts';
import { findEntries } from './find.ts';
import { findIn, findTogether } from './find-together.ts';
import { type Abilities, mongoGenerations } from './generations.ts';
import { knowsPipelines, type Leases, pipelineLeases } from './leases.ts';
import { listRows } from './list.ts';
import { mongoProgress } from './progress.ts';
import { countRows, searchIds, searchPage } from './search.ts';
import { type Transactions, transactionsOf } from './transactions.ts';

export interface MongoReadStoreOptions {
  /** A MongoDB connection string. Its database is used unless `dbName` names another; default `read_models`. */
  readonly url: string;
  readonly dbName?: string | undefined;
  /** For tests: abilities of the server as another one would have them. */
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
  const client = new MongoClient(options.url, CLIENT_OPTIONS);
  try {
    const db = client.db(options.dbName ?? databaseIn(options.url));
    const complete = await call(() => knowsPipelines(db));
    const transactions = await call(() => transactionsOf(client, db));
    const indexFields = complete ? await call(() => fieldIndexOf(db)) : undefined;
    const abilities = { ttlIndexes: complete, nestedArrays: complete, indexFields };
    const { beforeCheckpoint = async () => undefined } = options;
    return readStore(client, db, complete, transactions, beforeCheckpoint, {
      ...abilities,
      ...options.abilities,
    });
  } catch (error) {
    await client.close();
    throw error;
  }
}

function readStore(
  client: MongoClient,
  db: Db,
  complete: boolean,
  transactions: Transactions | undefined,
  beforeCheckpoint: () => Promise<void>,
  abilities: Abilities,
): ReadStore {
  const leases: Leases = complete ? pipelineLeases(db) : claimedLeases(db);
  const generations = mongoGenerations(db, abilities);
  const deps = { generations, leases, beforeCheckpoint };
  const commit =
    transactions === undefined ? orderedCommits(deps, !complete) : transactionalCommits(deps, transactions);

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
      call(async () => {
        const opened = await generations.open(generation, collection);
        return toStoredDoc(await opened?.rows.findOne({ _id: rowId(tenant, id) }));
      }),
    find: (generation, query) => call(() => findIn(generations, generation, query)),
    entries: (generation, query) =>
      call(async () => {
        const collection = await generations.open(generation, query.collection);
        if (collection === undefined) return [];
        return findEntries(collection.rows, planNamed(collection.indexes, query).plan, query);
      }),
    findAll: (generation, queries) =>
      call(() => findTogether(generations, transactions, generation, queries)),
    search: (generation, query) =>
      call(async () => {
        const collection = await generations.open(generation, query.collection);
        return collection === undefined ? { docs: [] } : searchPage(collection, query);
      }),
    ids: (generation, query) =>
      call(async () => {
        const collection = await generations.open(generation, query.collection);
        return collection === undefined ? { ids: [] } : searchIds(collection, query);
      }),
    count: (generation, selection) =>
      call(async () => {
        const collection = await generations.open(generation, selection.collection);
        return collection === undefined ? 0 : countRows(collection, selection);
      }),
    commit: (batch) => call(() => commit(batch)),
    list: (generation, name, after, limit) =>
      call(async () => {
        const collection = await generations.open(generation, name);
        return collection === undefined ? [] : listRows(collection, after, limit);
      }),
    generations: (projection) => call(() => generations.tags(projection)),
    drop: (generation) =>
      call(async () => {
        await generations.drop(generation);
        await db.collection<Row>('meta_parked').deleteMany({ lease: leaseNameOf(generation) });
      }),
    ping: () =>
      call(async () => {
        await db.command({ ping: 1 });
      }),
    close: () => client.close(),
  };
}
