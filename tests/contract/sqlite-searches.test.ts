import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { Cursor, ReadStore, SearchQuery } from '../../application/ports/read-store.ts';
import { parseFilter } from '../../domain/expressions/filter.ts';
import { parseSort } from '../../domain/expressions/sort.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { documentOf } from '../support/filters.ts';
import { ticksDuring } from '../support/ticks.ts';
import { put, type Workbench, workbench } from './read-store/support.ts';

/** More rows than one slice of a search scans. */
describe('SQLite read store: long searches', () => {
  const ROWS = 9_000;
  const fields: FieldSpecs = { n: { type: 'integer' }, rest: { type: 'integer' } };
  const base = { collection: 'docs', tenant: 'acme', index: 'by_entity', equals: ['order'], now: 0 };
  const idOf = (n: number): string => `r${String(n).padStart(5, '0')}`;
  let folder: string;
  let store: ReadStore;
  let bench: Workbench;

  before(async function () {
    this.timeout(60_000);
    folder = await mkdtemp(join(tmpdir(), 'searches-'));
    store = await openSqliteReadStore({ path: join(folder, 'read.db') });
    const indexes = [{ name: 'by_entity', fields: ['entity_name', 'created_at'] }];
    bench = await workbench(store, { name: 'docs', indexes, searchable: true });
    const writes = Array.from({ length: ROWS }, (_, n) => {
      const at = new Date(n * 1000).toISOString();
      const values = { n, ...(n % 3 > 0 && { rest: n % 7 }) };
      const record = { id: idOf(n), state: null, created_at: at, updated_at: at, values };
      return put(record.id, 1, documentOf(record, fields));
    });
    await bench.commit(writes, 1);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  async function all(query: Omit<SearchQuery, 'collection' | 'tenant' | 'index' | 'now'>): Promise<string[]> {
    const found: string[] = [];
    let after: Cursor | undefined;
    do {
      const page = await store.ids(bench.generation, { ...base, ...query, after });
      found.push(...page.ids);
      after = page.next;
    } while (after !== undefined);
    return found;
  }

  const numbers = Array.from({ length: ROWS }, (_, n) => n);

  it('find every row once, across slices, in both directions', async () => {
    const filter = parseFilter('rest == 4 || n in [0, 499, 500, 501, 8999]', fields);
    const wanted = numbers.filter((n) => (n % 3 > 0 && n % 7 === 4) || [0, 499, 500, 501, 8999].includes(n));
    expect(await all({ filter, limit: 100 })).to.deep.equal(wanted.map(idOf));
    expect(await all({ filter, limit: 77, order: 'desc' })).to.deep.equal(wanted.map(idOf).toReversed());
    expect(await store.count(bench.generation, { ...base, filter })).to.equal(wanted.length);
    expect(await store.count(bench.generation, base)).to.equal(ROWS);
  }).timeout(30_000);

  it('sort across slices, ties by id', async () => {
    const rest = (n: number): number => (n % 3 > 0 ? n % 7 : -1);
    const wanted = numbers.toSorted((a, b) => rest(a) - rest(b) || a - b).map(idOf);
    expect(await all({ sort: parseSort('rest', fields), limit: 2_000 })).to.deep.equal(wanted);
    expect(await all({ sort: parseSort('-rest', fields), limit: 1_999 })).to.deep.equal(wanted.toReversed());
  }).timeout(30_000);

  it('let other work of the process run in between', async () => {
    let ticks = 0;
    let over = false;
    const tick = (): void => {
      ticks += 1;
      if (!over) setImmediate(tick);
    };
    setImmediate(tick);
    const filter = parseFilter('!(n == -1)', fields);
    expect(await store.count(bench.generation, { ...base, filter })).to.equal(ROWS);
    over = true;
    expect(ticks).to.be.greaterThan(2);
  });

  it('let other work of the process run between two pages of a list', async () => {
    let pages = 0;
    const ticks = await ticksDuring(async () => {
      for (let after: Cursor | undefined; ; pages += 1) {
        const query = { ...base, order: 'asc', limit: 200, after } as const;
        const { next } = await store.find(bench.generation, query);
        const entries = await store.entries(bench.generation, query);
        if (next === undefined) return;
        expect(entries.at(-1)).to.deep.equal(next);
        after = next;
      }
    });
    expect(pages).to.be.at.least(ROWS / 200 - 1);
    expect(ticks).to.be.at.least(2 * pages);
  });

  it('end without an error when the generation is dropped', async () => {
    const other = await workbench(store, {
      name: 'docs',
      indexes: [{ name: 'by_entity', fields: ['entity_name'] }],
      searchable: true,
    });
    const writes = Array.from({ length: 2_000 }, (_, n) =>
      put(idOf(n), 1, { entity_name: 'order', keys: { n } }),
    );
    await other.commit(writes, 1);
    const counting = store.count(other.generation, { ...base, filter: parseFilter('n >= 0', fields) });
    await store.drop(other.generation);
    expect(await counting).to.be.within(0, 2_000);
  });
});
