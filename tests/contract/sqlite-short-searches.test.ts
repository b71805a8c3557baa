import { expect } from 'chai';
import type { Cursor, ReadStore, SearchQuery } from '../../application/ports/read-store.ts';
import { parseFilter } from '../../domain/expressions/filter.ts';
import { parseSort } from '../../domain/expressions/sort.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
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

  async function filled(sliceMs: number, titleOf: (n: number) => string) {
    const slices: number[] = [];
    const onSlice = ({ rows }: { readonly rows: number }) => void slices.push(rows);
    const store = await openSqliteReadStore({ path: ':memory:', limits: { sliceMs, onSlice } });
    stores.push(store);
    const bench = await workbench(store, { ...RECORDS, scopedBy: 'entity_name' });
    const writes = numbers.map((n) => {
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

  it('read entries in order where the filter is a range of the sort', async () => {
    const { store, bench, slices } = await filled(1_000, String);
    const { ids, plans } = await pages(store, bench, asked('tens > 2 && tens <= 32', 'tens', 70));
    expect(ids).to.deep.equal(numbers.slice(30, 330).map(idOf));
    expect(plans).to.deep.equal([`order field=tens of=${ROWS}`]);
    expect(slices).to.deep.equal([]);
  });

  it('continue in slices when reading takes longer than a slice may', async () => {
    // Below the resolution of processor time, so that any reading takes longer.
    const { store, bench, slices } = await filled(-1, String);
    const { ids } = await pages(store, bench, asked('tens >= 3 && tens < 13', '-n', 60));
    expect(ids).to.deep.equal(numbers.slice(30, 130).toReversed().map(idOf));
    expect(slices.length).to.be.greaterThan(1);
  });

  it('end pages after 1 MiB of documents', async () => {
    const { store, bench } = await filled(1_000, () => 'x'.repeat(300_000 / 10));
    for (const sort of [undefined, 'n', 'tens']) {
      const { ids, sizes } = await pages(store, bench, asked('tens >= 3 && tens < 13', sort, 90));
      expect(ids).to.deep.equal(numbers.slice(30, 130).map(idOf));
      expect(Math.max(...sizes), sort).to.be.within(10, 35);
    }
  });
});
