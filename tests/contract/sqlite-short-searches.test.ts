import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { expect } from 'chai';
import type { Cursor, ReadStore, SearchQuery } from '../../application/ports/read-store.ts';
import { parseFilter } from '../../domain/expressions/filter.ts';
import { parseSort } from '../../domain/expressions/sort.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import { openCollection, tableShape } from '../../infrastructure/read-store/sqlite/collection.ts';
import { fewPage } from '../../infrastructure/read-store/sqlite/few.ts';
import { type PlanLimits, planOf } from '../../infrastructure/read-store/sqlite/plan.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { openSqlite } from '../../infrastructure/sqlite/connection.ts';
import { documentOf } from '../support/filters.ts';
import { RECORDS } from './read-store/searches.ts';
import { put, type Workbench, workbench } from './read-store/support.ts';

/** Searches that are planned and read in one step, since few entries answer them. */
describe('SQLite read store: short searches', () => {
  const ROWS = 400;
  const fields: FieldSpecs = { n: { type: 'integer' }, tens: { type: 'integer' }, title: { type: 'text' } };
  const base = { collection: 'docs', tenant: 'acme', index: 'by_entity', equals: ['order'], now: 0 };
  const idOf = (n: number): string => `r${String(n).padStart(3, '0')}`;
  const numbers = Array.from({ length: ROWS }, (_, n) => n);
  const stores: ReadStore[] = [];

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
  });

  async function filled(sliceMs: number, titleOf: (n: number) => string, path = ':memory:', rows = numbers) {
    const slices: number[] = [];
    const onSlice = ({ rows }: { readonly rows: number }) => void slices.push(rows);
    const store = await openSqliteReadStore({ path, limits: { sliceMs, onSlice } });
    stores.push(store);
    const bench = await workbench(store, { ...RECORDS, scopedBy: 'entity_name' });
    const writes = rows.map((n) => {
      const at = new Date(n * 1000).toISOString();
      const values = { n, tens: Math.floor(n / 10), title: titleOf(n) };
      const record = { id: idOf(n), state: null, created_at: at, updated_at: at, values };
      return put(record.id, 1, documentOf(record, fields));
    });
    await bench.commit(writes, 1);
    return { store, bench, slices };
  }

  type Asked = Pick<SearchQuery, 'filter' | 'sort' | 'limit'>;

  async function pages(store: ReadStore, { generation }: Workbench, asked: Asked) {
    const sizes: number[] = [];
    const ids: string[] = [];
    const plans = new Set<string | undefined>();
    let after: Cursor | undefined;
    do {
      const page = await store.search(generation, { ...base, ...asked, after, explain: true });
      sizes.push(page.docs.length);
      ids.push(...page.docs.map((doc) => doc.id));
      plans.add(page.plan);
      after = page.next;
    } while (after !== undefined);
    return { ids, sizes, plans: [...plans] };
  }

  const asked = (filter: string, sort: string | undefined, limit: number): Asked => ({
    filter: parseFilter(filter, fields),
    sort: sort === undefined ? undefined : parseSort(sort, fields),
    limit,
  });

  it('read documents of few entries without slices', async () => {
    const { store, bench, slices } = await filled(1_000, String);
    const { ids, sizes, plans } = await pages(store, bench, asked('tens >= 3 && tens < 13', '-n', 40));
    expect(ids).to.deep.equal(numbers.slice(30, 130).toReversed().map(idOf));
    expect(sizes).to.deep.equal([40, 40, 20]);
    expect(plans).to.deep.equal([`lookup fields=tens entries=100 of=${ROWS}`]);
    expect(slices).to.deep.equal([]);
  });

  it('find a value that at most four records have by one statement, without a plan', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entries-'));
    const path = join(folder, 'read.db');
    const { store, bench } = await filled(1_000, (n) => (n < 4 ? 'few' : n < 9 ? 'more' : `${n}`), path);
    const connection = await openSqlite({ path, pragmas: [], schema: '' });
    try {
      const { number, indexes } = connection.prepare('SELECT number, indexes FROM collections').get() ?? {};
      const { tables } = openCollection(connection, tableShape(Number(number), String(indexes)));
      const statements: string[] = [];
      const prepare = (sql: string) => {
        statements.push(sql);
        return connection.prepare(sql);
      };
      const found = (filter: string, own: Partial<PlanLimits> = {}) => {
        statements.length = 0;
        const query = { ...base, ...asked(filter, undefined, 3) };
        const page = fewPage({ ...tables, connection: { ...connection, prepare } }, query, {
          counted: 0,
          countedAtOnce: 0,
          quick: 256,
          ...own,
        });
        return page && [page.docs.map(({ id }) => id), page.next?.id];
      };
      expect(found('n == 77')).to.deep.equal([['r077'], undefined]);
      expect(statements).to.have.length(1);
      const plan = connection.prepare(`EXPLAIN QUERY PLAN ${statements[0]}`).all();
      expect(plan.map(({ detail }) => String(detail).replace(/ .*/, ''))).to.deep.equal([
        'SEARCH',
        'SCALAR',
        'SEARCH',
        'SEARCH',
      ]);
      expect(found('title == "few"')).to.deep.equal([['r000', 'r001', 'r002'], 'r002']);
      expect(found('title == "none"')).to.deep.equal([[], undefined]);
      expect(found('title == "more"')).to.equal(undefined);
      expect(found('n < 2')).to.equal(undefined);
      expect(found('n == 77', { quick: 0 })).to.equal(undefined);
      expect(found('n == 77', { without: ['lookup'] })).to.equal(undefined);
      const { docs } = await store.search(bench.generation, {
        ...base,
        ...asked('title == "more"', undefined, 9),
      });
      expect(docs.map(({ id }) => id)).to.deep.equal(numbers.slice(4, 9).map(idOf));
    } finally {
      connection.close();
      for (const each of stores.splice(0)) await each.close();
      await rm(folder, { recursive: true });
    }
  });

  it('are told from longer ones by a bounded count of entries for each condition', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entries-'));
    const path = join(folder, 'read.db');
    await filled(1_000, String, path, [...Array(5_000).keys()]);
    const connection = await openSqlite({ path, pragmas: [], schema: '' });
    try {
      const { number, indexes } = connection.prepare('SELECT number, indexes FROM collections').get() ?? {};
      const { tables } = openCollection(connection, tableShape(Number(number), String(indexes)));
      const counts: unknown[] = [];
      const prepare = (sql: string) => {
        const statement = connection.prepare(sql);
        if (!sql.startsWith('SELECT count(*)')) return statement;
        return Object.assign(Object.create(statement), {
          get: (...values: SQLInputValue[]) => {
            counts.push(values.at(-1));
            return statement.get(...values);
          },
        });
      };
      const query = { ...base, ...asked('n >= 0 && tens >= 0', undefined, 50) };
      const plan = planOf({ ...tables, connection: { ...connection, prepare } }, query, {
        counted: 200_000,
        countedAtOnce: 4_000,
        quick: 256,
      });
      expect(plan).to.deep.equal({ kind: 'scan', of: 5_000 });
      // A lookup of more entries would cost more than the scan of a page.
      expect(counts).to.deep.equal([1_430, 1_430]);
    } finally {
      connection.close();
      for (const each of stores.splice(0)) await each.close();
      await rm(folder, { recursive: true });
    }
  });

  it('read entries in order where the filter is a range of the sort', async () => {
    const { store, bench, slices } = await filled(1_000, String);
    const { ids, plans } = await pages(store, bench, asked('tens > 2 && tens <= 32', 'tens', 70));
    expect(ids).to.deep.equal(numbers.slice(30, 330).map(idOf));
    expect(plans).to.deep.equal([`order field=tens of=${ROWS}`]);
    expect(slices).to.deep.equal([]);
  });

  it('read large documents in slices', async () => {
    const { store, bench, slices } = await filled(1_000, () => 'x'.repeat(4_000));
    const { ids } = await pages(store, bench, asked('tens >= 3 && tens < 13', '-n', 60));
    expect(ids).to.deep.equal(numbers.slice(30, 130).toReversed().map(idOf));
    expect(slices.length).to.be.greaterThan(1);
    slices.length = 0;
    const { ids: few } = await pages(store, bench, asked('tens >= 3 && tens < 4', '-n', 60));
    expect(few).to.deep.equal(numbers.slice(30, 40).toReversed().map(idOf));
    expect(slices).to.deep.equal([]);
  });

  it('find the documents of entries of a former version, which name no rows', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entries-'));
    try {
      const path = join(folder, 'read.db');
      const { store, bench } = await filled(1_000, String, path);
      const queries = [
        asked('tens >= 3 && tens < 13', '-n', 40),
        asked('tens >= 3 && tens < 13', 'tens', 40),
        asked('tens >= 3 && n < 350', undefined, 90),
      ];
      const found = await Promise.all(queries.map((query) => pages(store, bench, query)));
      const db = new DatabaseSync(path);
      db.exec('ALTER TABLE f1 DROP COLUMN row');
      db.close();
      const former = await openSqliteReadStore({ path });
      stores.push(former);
      expect(await Promise.all(queries.map((query) => pages(former, bench, query)))).to.deep.equal(found);
      expect(
        (await former.list(bench.generation, 'docs', undefined, 9)).map((each) => each.isIndexed),
      ).to.deep.equal(Array.from({ length: 9 }, () => true));
    } finally {
      for (const store of stores.splice(0)) await store.close();
      await rm(folder, { recursive: true });
    }
  });

  it('depend on entries with the right row, which a list for checks verifies', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'entries-'));
    try {
      const path = join(folder, 'read.db');
      const { store, bench } = await filled(1_000, String, path);
      const db = new DatabaseSync(path);
      db.exec("UPDATE f1 SET row = row + 1 WHERE id = 'r001'");
      db.close();
      const listed = await store.list(bench.generation, 'docs', undefined, 3);
      expect(listed.map(({ isIndexed }) => isIndexed)).to.deep.equal([true, false, true]);
    } finally {
      for (const store of stores.splice(0)) await store.close();
      await rm(folder, { recursive: true });
    }
  });

  it('return at most 1 MiB of documents in a page', async () => {
    const { store, bench } = await filled(1_000, () => 'x'.repeat(300_000 / 10));
    for (const sort of [undefined, 'n', 'tens']) {
      const { ids, sizes } = await pages(store, bench, asked('tens >= 3 && tens < 13', sort, 90));
      expect(ids).to.deep.equal(numbers.slice(30, 130).map(idOf));
      expect(Math.max(...sizes), sort).to.be.within(10, 35);
    }
  });
});
