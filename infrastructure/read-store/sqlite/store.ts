import { setImmediate as nextTick } from 'node:timers/promises';
import {
  type CollectionSpec,
  type DocKey,
  type FindQuery,
  type GenerationId,
  type JsonObject,
  leaseNameOf,
  type ReadStore,
  type StoredDoc,
} from '../../../application/ports/read-store.ts';
import type { SearchSlices } from '../../../application/ports/searches.ts';
import {
  isMissingTable,
  numberOf,
  openSqlite,
  type SqliteConnection,
  textOf,
} from '../../sqlite/connection.ts';
import { checkNames, checkSameSpec, parseDocument, specText } from '../stored-values.ts';
import { type Collection, type CollectionWriter, openCollection, tableShape } from './collection.ts';
import { checkFence, sqliteLeases } from './leases.ts';
import { listRows } from './list.ts';
import { advanceCheckpoint, sqliteProgress } from './progress.ts';
import { PRAGMAS, SCHEMA } from './schema.ts';
import { type SearchLimits, sqliteSearches } from './searches.ts';
import { createSql, dropSql, sweepSql } from './tables.ts';

/** Documents that are parsed in one tick of the event loop. */
const PARSED = 1_000;

interface SqliteReadStoreOptions {
  readonly path: string;
  /** Divides the thread among searches; default: one tick between two slices. */
  readonly timeSlices?: SearchSlices | undefined;
  /** For tests: limits of searches. */
  readonly limits?: Partial<SearchLimits> | undefined;
  /** For the simulation: the clock of leases (ms since 1970). */
  readonly clock?: (() => number) | undefined;
}

/**
 * Read models in one SQLite file, which several threads and processes of a machine may open.
 * @throws {StoreUnavailable} when the file cannot be opened
 */
export async function openSqliteReadStore({
  path,
  limits,
  clock = Date.now,
  timeSlices,
}: SqliteReadStoreOptions): Promise<ReadStore> {
  const connection = await openSqlite({ path, pragmas: PRAGMAS, schema: SCHEMA });
  const { prepare, read, write } = connection;
  const collections = new Map<string, Collection>();

  /** Undefined for a generation that was never prepared, or was dropped. */
  function collectionOf({ projection, tag }: GenerationId, name: string): Collection | undefined {
    const key = `${projection}@${tag}/${name}`;
    const known = collections.get(key);
    if (known !== undefined) return known;
    const row = prepare(
      'SELECT number, indexes FROM collections WHERE projection = ? AND tag = ? AND collection = ?',
    ).get(projection, tag, name);
    if (row === undefined) return undefined;
    const opened = openCollection(connection, tableShape(numberOf(row, 'number'), textOf(row, 'indexes')));
    collections.set(key, opened);
    return opened;
  }

  /**
   * Repeats an action when another process has dropped the generation. That process may have prepared the generation
   * again, with other table numbers.
   */
  function sinceDrops<T>(action: () => T): T {
    try {
      return action();
    } catch (error) {
      if (!isMissingTable(error)) throw error;
      collections.clear();
      return action();
    }
  }

  /** Reads a page. Other work runs between two pages, since SQLite blocks this thread. */
  async function readPage<T>({ after }: Pick<FindQuery, 'after'>, action: () => T): Promise<T> {
    if (after !== undefined) await nextTick();
    return read(() => sinceDrops(action));
  }

  /** Runs several reads on one snapshot: commits of other processes are not visible in between. */
  const readAtOnce = <T>(action: () => T): Promise<T> =>
    read(() => connection.snapshot(() => sinceDrops(action)));

  function loadMany(generation: GenerationId, keys: readonly DocKey[]): (StoredDoc | undefined)[] {
    const found = new Array<StoredDoc | undefined>(keys.length).fill(undefined);
    const groups = Map.groupBy(keys.keys(), (at) => `${keys[at]?.collection}/${keys[at]?.tenant}`);
    for (const places of groups.values()) {
      const those = places.flatMap((at) => keys[at] ?? []);
      const [first] = those;
      const collection = first && collectionOf(generation, first.collection);
      if (first === undefined || collection === undefined) continue;
      const docs = collection.loadMany(
        first.tenant,
        those.map(({ id }) => id),
      );
      for (const [nth, at] of places.entries()) found[at] = docs[nth];
    }
    return found;
  }

  async function parsed(texts: readonly string[]): Promise<readonly JsonObject[]> {
    const docs: JsonObject[] = [];
    for (const text of texts) {
      if (docs.length % PARSED === PARSED - 1) await nextTick();
      docs.push(parseDocument(text));
    }
    return docs;
  }

  return {
    ...sqliteProgress(connection),
    ...sqliteLeases(connection, clock),
    async prepare(generation, specs) {
      checkNames(generation.projection, generation.tag, specs);
      await write(() => prepareGeneration(connection, generation, specs));
    },
    load: (generation, keys) => read(() => sinceDrops(() => loadMany(generation, keys))),
    get: (generation, { collection, tenant, id }) =>
      read(() => sinceDrops(() => collectionOf(generation, collection)?.load(tenant, id))),
    find: (generation, query) =>
      readPage(query, () => collectionOf(generation, query.collection)?.find(query) ?? { docs: [] }),
    entries: (generation, query) =>
      readPage(query, () => collectionOf(generation, query.collection)?.entries(query) ?? []),
    async findAll(generation, queries) {
      const found = await readAtOnce(() =>
        queries.map((query) => collectionOf(generation, query.collection)?.texts(query) ?? []),
      );
      const all: (readonly JsonObject[])[] = [];
      for (const texts of found) all.push(await parsed(texts));
      return all;
    },
    ...sqliteSearches({ connection, collectionOf, sinceDrops, limits, timeSlices }),
    commit: ({ generation, fence, writes, checkpoint }) =>
      write(() => {
        checkFence(connection, leaseNameOf(generation), fence);
        if (checkpoint !== undefined) advanceCheckpoint(connection, generation, checkpoint);
        sinceDrops(() => {
          const writers = new Map<string, CollectionWriter>();
          for (const each of writes) {
            const known = writers.get(each.collection);
            const writer = known ?? collectionOf(generation, each.collection)?.writer();
            if (writer === undefined) {
              const { projection, tag } = generation;
              throw new Error(`collection ${each.collection} of ${projection}@${tag} is not prepared`);
            }
            if (known === undefined) writers.set(each.collection, writer);
            writer.apply(each);
          }
          for (const writer of writers.values()) writer.finish();
        });
      }),
    list: (generation, collection, after, limit) =>
      readAtOnce(() => {
        const opened = collectionOf(generation, collection);
        return opened === undefined ? [] : listRows(opened.tables, after, limit);
      }),
    generations: (projection) =>
      read(() =>
        prepare('SELECT tag FROM generations WHERE projection = ? ORDER BY tag')
          .all(projection)
          .map((row) => textOf(row, 'tag')),
      ),
    async drop(generation) {
      await write(() => dropGeneration(connection, generation));
      collections.clear();
    },
    ping: connection.ping,
    close() {
      collections.clear();
      return connection.close();
    },
  };
}

function prepareGeneration(
  connection: SqliteConnection,
  generation: GenerationId,
  specs: readonly CollectionSpec[],
) {
  const { projection, tag } = generation;
  const { prepare } = connection;
  prepare('INSERT OR IGNORE INTO generations (projection, tag) VALUES (?, ?)').run(projection, tag);
  for (const spec of specs) {
    const { name } = spec;
    const known = prepare(
      'SELECT indexes FROM collections WHERE projection = ? AND tag = ? AND collection = ?',
    ).get(projection, tag, name);
    if (known !== undefined) {
      checkSameSpec(textOf(known, 'indexes'), spec);
      continue;
    }
    const text = specText(spec);
    const { lastInsertRowid } = prepare(
      'INSERT INTO collections (projection, tag, collection, indexes) VALUES (?, ?, ?, ?)',
    ).run(projection, tag, name, text);
    connection.exec(createSql(tableShape(Number(lastInsertRowid), text)));
  }
  sweepTombstones(connection, generation);
}

/**
 * Deletes tombstones up to the checkpoint, since no batch before it is folded again. Keeps them while a tenant is
 * parked, since the tenant's retry folds older events again.
 */
function sweepTombstones(connection: SqliteConnection, { projection, tag }: GenerationId): void {
  const { prepare } = connection;
  if (prepare('SELECT 1 FROM parked WHERE projection = ? AND tag = ? LIMIT 1').get(projection, tag)) return;
  const row = prepare('SELECT checkpoint FROM generations WHERE projection = ? AND tag = ?').get(
    projection,
    tag,
  );
  const checkpoint = row?.checkpoint;
  if (typeof checkpoint !== 'string') return;
  for (const shape of shapesOf(connection, { projection, tag })) prepare(sweepSql(shape)).run(checkpoint);
}

function dropGeneration(connection: SqliteConnection, generation: GenerationId): void {
  const { projection, tag } = generation;
  for (const shape of shapesOf(connection, generation)) connection.exec(dropSql(shape));
  for (const table of ['collections', 'parked', 'generations']) {
    connection.prepare(`DELETE FROM ${table} WHERE projection = ? AND tag = ?`).run(projection, tag);
  }
}

function shapesOf(connection: SqliteConnection, { projection, tag }: GenerationId) {
  return connection
    .prepare('SELECT number, indexes FROM collections WHERE projection = ? AND tag = ?')
    .all(projection, tag)
    .map((row) => tableShape(numberOf(row, 'number'), textOf(row, 'indexes')));
}
