import { setImmediate as nextTick } from 'node:timers/promises';
import { expect } from 'chai';
import type { DocWrite, ReadStore } from '../../application/ports/read-store.ts';
import { SearchGivenUp } from '../../application/ports/searches.ts';
import { parseFilter } from '../../domain/expressions/filter.ts';
import { parseSort } from '../../domain/expressions/sort.ts';
import type { FieldSpecs } from '../../domain/expressions/tree.ts';
import type { SearchLimits } from '../../infrastructure/read-store/sqlite/searches.ts';
import { openSqliteReadStore } from '../../infrastructure/read-store/sqlite/store.ts';
import { documentOf } from '../support/filters.ts';
import { RECORDS } from './read-store/searches.ts';
import { put, rejectsWith, type Workbench, workbench } from './read-store/support.ts';

/** Counts of entries that are too long for one tick. */
describe('SQLite read store: long counts of index entries', () => {
  const ROWS = 3_000;
  const fields: FieldSpecs = { n: { type: 'integer' }, tens: { type: 'integer' }, title: { type: 'text' } };
  const base = { collection: 'docs', tenant: 'acme', index: 'by_entity', equals: ['order'], now: 0 };
  const stores: ReadStore[] = [];
  let pauses = 0;
  /** Runs in each pause of a search. */
  let meanwhile: () => unknown = () => undefined;

  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    meanwhile = () => undefined;
  });

  const writeOf = (n: number): DocWrite => {
    const at = new Date(n * 1000).toISOString();
    // Entries hold only the beginning of a title, so that a list sorted by it cannot be read in order.
    const values = { n, tens: Math.floor(n / 10), ...(n % 1000 === 0 && { title: 'x'.repeat(200) }) };
    const record = { id: `r${n}`, state: null, created_at: at, updated_at: at, values };
    return put(record.id, 1, documentOf(record, fields));
  };

  async function filled(limits: Partial<SearchLimits> = {}): Promise<{ store: ReadStore; bench: Workbench }> {
    const next = async (): Promise<void> => {
      pauses += 1;
      await meanwhile();
      await nextTick();
    };
    const store = await openSqliteReadStore({
      path: ':memory:',
      limits: { countedAtOnce: 100, sliceMs: 1_000, firstRows: 100_000, ...limits },
      timeSlices: { of: () => ({ next }) },
    });
    stores.push(store);
    const bench = await workbench(store, { ...RECORDS, scopedBy: 'entity_name' });
    await bench.commit(
      Array.from({ length: ROWS }, (_, n) => writeOf(n)),
      1,
    );
    pauses = 0;
    return { store, bench };
  }

  it('are made in steps, with pauses, and give the same numbers', async () => {
    const { store, bench } = await filled();
    for (const [filter, wanted, least] of [
      ['n >= 0', 3_000, 29],
      ['n > 10 && n <= 2900', 2_890, 28],
      ['tens == 7', 10, 0],
      ['n >= 500 && tens >= 0', 2_500, 28],
      ['n < 1000 || tens >= 200', 2_000, 19],
      ['!has(title) && n >= 0', 2_997, 28],
      ['tens in [1, 2, 3]', 30, 0],
    ] as const) {
      pauses = 0;
      const count = await store.count(bench.generation, { ...base, filter: parseFilter(filter, fields) });
      expect(count, filter).to.equal(wanted);
      expect(pauses, filter).to.be.at.least(least);
    }
  });

  it('choose the same plan for a sorted list', async () => {
    const { store, bench } = await filled();
    const query = { ...base, filter: parseFilter('n >= 600 && tens >= 20', fields), limit: 5, explain: true };
    const page = await store.search(bench.generation, { ...query, sort: parseSort('title', fields) });
    expect(pauses).to.be.at.least(20);
    const { store: other, bench: same } = await filled({ countedAtOnce: 100_000 });
    expect(await other.search(same.generation, { ...query, sort: parseSort('title', fields) })).to.deep.equal(
      page,
    );
    expect(page.plan).to.equal('lookup fields=n entries=2400 of=3000');
  });

  it('end while documents are added', async () => {
    const { store, bench } = await filled();
    let added = ROWS;
    meanwhile = () => {
      added += 1;
      return bench.commit([writeOf(added)], added);
    };
    const count = await store.count(bench.generation, { ...base, filter: parseFilter('n >= 0', fields) });
    expect(count).to.be.within(ROWS, added);
    expect(pauses).to.be.at.least(29);
  });

  it('end at the deadline of their search', async () => {
    const { store, bench } = await filled({ deadlineMs: 1000 });
    meanwhile = () => new Promise((resolve) => setTimeout(resolve, 1100));
    const counting = store.count(bench.generation, { ...base, filter: parseFilter('n >= 0', fields) });
    await rejectsWith(counting, SearchGivenUp);
    expect(pauses).to.equal(1);
  });
});
