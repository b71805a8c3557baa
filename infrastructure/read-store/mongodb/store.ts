import { type Db, MongoClient } from 'mongodb';
import type { Position } from '../../../application/ports/event-store.ts';
import {
  type BatchWrite,
  type Cursor,
  Fenced,
  type FindQuery,
  type FindResult,
  type GenerationId,
  type JsonObject,
  leaseNameOf,
  type RangeQuery,
  type ReadStore,
} from '../../../application/ports/read-store.ts';
import { CLIENT_OPTIONS, call, databaseIn, type Row, whereId } from '../../mongodb/calls.ts';
import { planNamed } from '../index-keys.ts';
import { claimedLeases } from './claimed-leases.ts';
import { lastWrites, rowId, toRow, toStoredDoc, writeRows } from './documents.ts';
import { findEntries, findPage } from './find.ts';
import { type Generations, mongoGenerations } from './generations.ts';
import { knowsPipelines, type Leases, pipelineLeases } from './leases.ts';
import { listRows } from './list.ts';
import { checkFence, mongoProgress } from './progress.ts';
import { countRows, searchIds, searchPage } from './search.ts';

export interface MongoReadStoreOptions {
  /** A MongoDB connection string. Its database is used unless `dbName` names another; default `read_models`. */
  readonly url: string;
  readonly dbName?: string | undefined;
  /** For tests: called between the documents and the checkpoint of a batch. */
  readonly beforeCheckpoint?: (() => Promise<void>) | undefined;
}

/**
 * Read models in MongoDB, without multi-document transactions: see {@link writeRows} and {@link ReadStore.commit}.
 * Servers that lack update pipelines (FerretDB 1.x) are told apart once, here.
 * @throws {StoreUnavailable}
 */
export async function openMongoReadStore(options: MongoReadStoreOptions): Promise<ReadStore> {
  const client = new MongoClient(options.url, CLIENT_OPTIONS);
  try {
    const db = client.db(options.dbName ?? databaseIn(options.url));
    const complete = await call(() => knowsPipelines(db));
    return readStore(client, db, complete, options.beforeCheckpoint ?? (async () => undefined));
  } catch (error) {
    await client.close();
    throw error;
  }
}

function readStore(
  client: MongoClient,
  db: Db,
  complete: boolean,
  beforeCheckpoint: () => Promise<void>,
): ReadStore {
  const leases: Leases = complete ? pipelineLeases(db) : claimedLeases(db);
  const generations = mongoGenerations(db, complete);

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
      call(async () => {
        for (let left = QUIET_TRIES; ; left -= 1) {
          const before = await generations.checkpoint(generation);
          const found = await Promise.all(
            queries.map((query) => findEverything(generations, generation, query)),
          );
          if (left <= 1 || (await generations.checkpoint(generation)) === before) return found;
        }
      }),
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
    commit: (batch) =>
      call(async () => {
        await Promise.all([
          checkFence(leases, leaseNameOf(batch.generation), batch.fence),
          // Without documents the checkpoint's own conditional update is check enough.
          batch.writes.length === 0 ? undefined : checkOrder(generations, batch),
        ]);
        await writeDocuments(generations, batch, !complete);
        await beforeCheckpoint();
        const { generation, fence, checkpoint } = batch;
        if (checkpoint !== undefined) await generations.advance(generation, fence, checkpoint);
      }),
    list: (generation, name, after, limit) =>
      call(async () => {
        const collection = await generations.open(generation, name);
        return collection === undefined ? [] : listRows(collection, after, limit);
      }),
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

async function findIn(
  generations: Generations,
  generation: GenerationId,
  query: FindQuery,
): Promise<FindResult> {
  const collection = await generations.open(generation, query.collection);
  if (collection === undefined) return { docs: [] };
  return findPage(collection.rows, planNamed(collection.indexes, query).plan, query);
}

/** How often a range is read for want of a moment without commits. */
const QUIET_TRIES = 5;
const PAGE = 1000;

async function findEverything(
  generations: Generations,
  generation: GenerationId,
  query: RangeQuery,
): Promise<readonly JsonObject[]> {
  const all: JsonObject[] = [];
  let after: Cursor | undefined;
  do {
    const page = await findIn(generations, generation, { ...query, limit: PAGE, after });
    for (const { value } of page.docs) all.push(value);
    after = page.next;
  } while (after !== undefined);
  return all;
}

/** Before any document is written; the checkpoint's own update checks again. @throws {Fenced} */
async function checkOrder(generations: Generations, { generation, checkpoint }: BatchWrite): Promise<void> {
  if (checkpoint === undefined) return;
  const stored: Position | '' | undefined = await generations.checkpoint(generation);
  if (stored === undefined || stored > checkpoint) {
    throw new Fenced(
      `the checkpoint of ${leaseNameOf(generation)} is ${stored ?? 'gone'}, not before ${checkpoint}`,
    );
  }
}

async function writeDocuments(generations: Generations, batch: BatchWrite, oneByOne: boolean): Promise<void> {
  const collections = Map.groupBy(lastWrites(batch.writes), (write) => write.collection);
  const work = [...collections].map(async ([name, writes]) => {
    const collection = await generations.open(batch.generation, name);
    if (collection === undefined) throw new Error(`collection ${name} of the batch is not prepared`);
    return {
      rows: collection.rows,
      all: writes.map((write) => toRow(write, batch.fence, collection)),
    };
  });
  // Every row is made before the first is written: a document that cannot be indexed stops the whole batch.
  for (const { rows, all } of await Promise.all(work)) await writeRows(rows, all, oneByOne);
}
