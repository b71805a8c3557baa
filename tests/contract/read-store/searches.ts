import { expect } from 'chai';
import fc from 'fast-check';
import type {
  CollectionSpec,
  Cursor,
  GenerationId,
  ReadStore,
  SearchQuery,
} from '../../../application/ports/read-store.ts';
import {
  type Filter,
  type FilteredRecord,
  matches,
  parseFilter,
} from '../../../domain/expressions/filter.ts';
import type { SortField } from '../../../domain/expressions/filter-tree.ts';
import { orderKey, ownValue } from '../../../domain/expressions/order-key.ts';
import { parseSort } from '../../../domain/expressions/sort.ts';
import type { FieldSpecs } from '../../../domain/expressions/tree.ts';
import { documentOf, filterOf, NOW, recordOf, schema } from '../../support/filters.ts';
import { type Context, put, rejectsWith, workbench } from './support.ts';

export const RECORDS: CollectionSpec = {
  name: 'docs',
  indexes: [{ name: 'by_entity', fields: ['entity_name', 'created_at'] }],
  searchable: true,
};
const base = { collection: 'docs', tenant: 'acme', index: 'by_entity', equals: ['order'], now: NOW };

/** Reads all pages and checks that `ids` returns the same. */
async function pages(store: ReadStore, generation: GenerationId, query: SearchQuery): Promise<string[]> {
  const found: string[] = [];
  let after: Cursor | undefined;
  for (;;) {
    const page = await store.search(generation, { ...query, after });
    const { ids, next } = await store.ids(generation, { ...query, after });
    expect({ ids, next }).to.deep.equal({ ids: page.docs.map((doc) => doc.id), next: page.next });
    found.push(...ids);
    if (next === undefined) return found;
    expect(ids, 'a page that others follow is full').to.have.length(query.limit);
    after = next;
  }
}

/** The expected pages, by plain sorting. */
function expectedIds(
  records: readonly FilteredRecord[],
  filter: Filter | undefined,
  sort: SortField,
): string[] {
  const keyOf = (record: FilteredRecord) =>
    orderKey(sort.field.type, ownValue(sort.field.system ? record : record.values, sort.field.key));
  const chosen = records.filter((record) => filter === undefined || matches(filter, record, NOW));
  chosen.sort((a, b) => byKey(keyOf(a), keyOf(b)) || bytes(a.id, b.id));
  return (sort.direction === 'desc' ? chosen.toReversed() : chosen).map((record) => record.id);
}

/** Filters by a range of the sort's field, between values of records. */
function between(records: readonly FilteredRecord[], { field }: SortField, nth: number): Filter[] {
  const keys = records
    .map((record) => orderKey(field.type, ownValue(field.system ? record : record.values, field.key)))
    .filter((key) => key !== undefined && typeof key !== 'boolean');
  const [low, high] = [keys.at(nth), keys.at(-1)];
  if (low === undefined || high === undefined) return [];
  const above: Filter = { op: nth % 2 === 0 ? '>=' : '>', field, value: low };
  const below: Filter = { op: nth % 2 === 0 ? '<' : '<=', field, value: high };
  return [above, below, { op: 'and', of: [above, below] }];
}

const bytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

function byKey(a: unknown, b: unknown): number {
  if (a === undefined || b === undefined) return Number(a !== undefined) - Number(b !== undefined);
  return typeof a === 'string' && typeof b === 'string' ? bytes(a, b) : Number(a) - Number(b);
}

/** Searches in a range of an index, and within a scope whose fields are indexed. */
export function searchTests(context: Context): void {
  searchesOf(context, 'searches', RECORDS);
  searchesOf(context, 'searches of indexed fields', { ...RECORDS, scopedBy: 'entity_name' });
}

export function searchesOf({ store, harness }: Context, title: string, spec: CollectionSpec): void {
  describe(title, () => {
    const FIELDS: FieldSpecs = {
      n: { type: 'integer' },
      title: { type: 'text' },
      total: { type: 'decimal' },
    };

    const record = (id: string, values: FilteredRecord['values'], day = 1): FilteredRecord => {
      const at = `2026-01-${String(day).padStart(2, '0')}T00:00:00.000Z`;
      return { id, state: null, created_at: at, updated_at: at, values };
    };

    async function filled(records: readonly FilteredRecord[], fields = FIELDS) {
      const bench = await workbench(store(), spec);
      const writes = records.flatMap((each) => [
        put(each.id, 1, documentOf(each, fields)),
        // Documents of another tenant or entity must not appear.
        put(each.id, 1, documentOf(each, fields), 'globex'),
        put(`other ${each.id}`, 1, documentOf(each, fields, 'invoice')),
      ]);
      await bench.commit(writes, 1);
      return bench;
    }

    /** One page, the same by `search` and `ids`. */
    async function pageOf(generation: GenerationId, query: SearchQuery) {
      const { docs } = await store().search(generation, query);
      const page = await store().ids(generation, query);
      expect(docs.map(({ id }) => id)).to.deep.equal(page.ids);
      return page;
    }

    it('select what the filter matches, of one tenant and one range of the index', async () => {
      const records = [1, 2, 3, 4].map((n) => record(`r${n}`, { n, title: n === 2 ? 'x' : undefined }, n));
      const { generation } = await filled(records);
      const filter = parseFilter('n >= 2 && n < 4', FIELDS);
      expect(await store().search(generation, { ...base, filter, limit: 9 })).to.deep.equal({
        docs: [1, 2].map((nth) => {
          const found = records[nth] ?? record('', {});
          return { id: found.id, value: documentOf(found, FIELDS) };
        }),
      });
      expect(await store().count(generation, { ...base, filter })).to.equal(2);
      expect(await store().count(generation, base)).to.equal(4);
      const nobody = { ...base, tenant: 'nobody', filter };
      expect(await store().count(generation, nobody)).to.equal(0);
      expect((await store().search(generation, { ...nobody, limit: 9 })).docs).to.deep.equal([]);
    });

    it('see present documents only', async () => {
      const { generation, commit } = await filled([record('a', { n: 1 }), record('b', { n: 1 })]);
      const filter = parseFilter('n == 1', FIELDS);
      await commit([put('a', 2, documentOf(record('a', { n: 2 }), FIELDS)), put('b', 2, null)], 2);
      expect(await store().count(generation, { ...base, filter })).to.equal(0);
      const rest = { ...base, filter: parseFilter('!(n == 1)', FIELDS), limit: 9 };
      expect((await store().search(generation, rest)).docs.map(({ id }) => id)).to.deep.equal(['a']);
    });

    it('sort by a field, missing values first, ties by id, page by page', async () => {
      const totals: [string, string | undefined][] = [
        ['a', undefined],
        ['e', '9.50'],
        ['c', '10'],
        ['b', '9.5'],
        ['d', '-3'],
        ['f', undefined],
      ];
      const records = totals.map(([id, total], nth) => record(id, { total }, 20 - nth));
      const { generation } = await filled(records);
      const by = (text: string) => ({ ...base, sort: parseSort(text, FIELDS), limit: 2 });
      expect(await pages(store(), generation, by('total'))).to.deep.equal(['a', 'f', 'd', 'b', 'e', 'c']);
      expect(await pages(store(), generation, by('-total'))).to.deep.equal(['c', 'e', 'b', 'd', 'f', 'a']);
      expect(await pages(store(), generation, by('-id'))).to.deep.equal(['f', 'e', 'd', 'c', 'b', 'a']);
      const ascending = totals.map(([id]) => id).toReversed();
      expect(await pages(store(), generation, { ...base, limit: 4 })).to.deep.equal(ascending);
      const newest = { ...base, order: 'desc' as const, limit: 4 };
      expect(await pages(store(), generation, newest)).to.deep.equal(ascending.toReversed());
      const first = await store().search(generation, by('total'));
      expect(first.next).to.deep.equal({ values: [null], id: 'f' });
    });

    it('treat literals as data, whatever the syntax of the database', async () => {
      const titles = ["'); DROP TABLE x; --", '$where', '.*', '^', 'a\n', '%', '{"$gt":""}', '\\', 'a.b'];
      const { generation } = await filled(titles.map((title, nth) => record(`r${nth}`, { title }, nth + 1)));
      for (const [nth, title] of titles.entries()) {
        const word = JSON.stringify(title);
        const equal = ['title == ?', 'title in [?]', 'title.startsWith(?) && title.endsWith(?)'];
        for (const text of equal) {
          const filter = parseFilter(
            text.replaceAll('?', () => word),
            FIELDS,
          );
          const { ids } = await store().ids(generation, { ...base, filter, limit: 9 });
          expect(ids, text).to.deep.equal([`r${nth}`]);
        }
      }
    });

    it('distinguish texts with a common prefix longer than an index entry', async () => {
      const lengths = [118, 119, 120, 121, 300];
      const { generation } = await filled(
        lengths.map((length) => record(`r${length}`, { title: 'x'.repeat(length) }, length - 117)),
      );
      for (const length of [...lengths, 122]) {
        const found = lengths.includes(length) ? [`r${length}`] : [];
        const filter = parseFilter(`title == "${'x'.repeat(length)}"`, FIELDS);
        expect((await store().ids(generation, { ...base, filter, limit: 9 })).ids).to.deep.equal(found);
        expect(await store().count(generation, { ...base, filter })).to.equal(found.length);
      }
      const listed = lengths.map((length) => `"${'x'.repeat(length)}"`).join(', ');
      const filter = parseFilter(`title in [${listed}]`, FIELDS);
      const { ids } = await store().ids(generation, { ...base, filter, limit: 9 });
      expect(ids).to.have.members(lengths.map((length) => `r${length}`));
      expect(await store().count(generation, { ...base, filter })).to.equal(lengths.length);
    });

    it('compare with a bound longer than an index entry, whichever bound comes first', async () => {
      const { generation } = await filled([
        ...[117, 118, 119, 120].map((length) => record(`r${length}`, { title: 'a'.repeat(length) })),
        record('above', { title: 'ab' }),
      ]);
      const bounds = [`title >= "${'a'.repeat(130)}"`, 'title < "b"'];
      for (const text of [bounds.join(' && '), bounds.toReversed().join(' && ')]) {
        const query = { ...base, filter: parseFilter(text, FIELDS) };
        expect(await pageOf(generation, { ...query, limit: 9 })).to.deep.equal({ ids: ['above'] });
        expect(await store().count(generation, query)).to.equal(1);
      }
    });

    it('continue a page at a cursor that another filter gave', async () => {
      const { generation } = await filled([1, 2, 3, 4, 5].map((n) => record(`r${n}`, { n })));
      const idsAfter = async (
        text: string,
        sort: string,
        value: number | null,
      ): Promise<readonly string[]> => {
        const query = { ...base, filter: parseFilter(text, FIELDS), sort: parseSort(sort, FIELDS), limit: 9 };
        return (await pageOf(generation, { ...query, after: { values: [value], id: 'r2' } })).ids;
      };
      expect(await idsAfter('n >= 3 && n <= 4', 'n', 2)).to.deep.equal(['r3', 'r4']);
      expect(await idsAfter('n > 2 && n <= 4', 'n', 2)).to.deep.equal(['r3', 'r4']);
      expect(await idsAfter('n >= 3 && n <= 4', 'n', null)).to.deep.equal(['r3', 'r4']);
      expect(await idsAfter('n >= 3 && n <= 4', 'n', 9)).to.deep.equal([]);
      expect(await idsAfter('n >= 3 && n <= 4', '-n', 9)).to.deep.equal(['r4', 'r3']);
      expect(await idsAfter('n >= 2 && n < 4', '-n', 4)).to.deep.equal(['r3', 'r2']);
      expect(await idsAfter('n >= 3 && n <= 4', '-n', null)).to.deep.equal([]);
    });

    it('are empty for an unknown generation', async () => {
      const { generation } = await filled([record('a', { n: 1 })]);
      await store().drop(generation);
      expect(await store().search(generation, { ...base, limit: 9 })).to.deep.equal({ docs: [] });
      expect(await store().ids(generation, { ...base, limit: 9 })).to.deep.equal({ ids: [] });
      expect(await store().count(generation, base)).to.equal(0);
    });

    it('refuse queries that they cannot answer', async () => {
      const plain = await workbench(store());
      await rejectsWith(
        store().search(plain.generation, { ...base, index: 'by_n', equals: [], limit: 1 }),
        Error,
      );
      const { generation } = await filled([]);
      const search = (query: Partial<SearchQuery>) =>
        store().search(generation, { ...base, limit: 1, ...query });
      await rejectsWith(search({ index: 'none' }), Error);
      await rejectsWith(search({ limit: 0 }), RangeError);
      await rejectsWith(search({ after: { values: [], id: 'a' } }), TypeError);
      for (const values of [[], [1], [null, null], [true]]) {
        const sort = parseSort('title', FIELDS);
        await rejectsWith(search({ sort, after: { values, id: 'a' } }), TypeError);
      }
      const sort = {
        field: { key: 'a"b.$c', type: 'text' as const, system: false },
        direction: 'asc' as const,
      };
      await rejectsWith(search({ sort }), TypeError);
    });

    it('select, sort and count like memory for any schema, records and filter', async function () {
      this.timeout(300_000);
      const cases = schema.chain((fields) =>
        fc.record({
          fields: fc.constant(fields),
          records: fc.array(recordOf(fields), { maxLength: 12 }),
          changes: fc.array(fc.option(recordOf(fields)), { maxLength: 4 }),
          filters: fc.array(filterOf(fields), { minLength: 6, maxLength: 10 }),
          sorts: fc.array(
            fc.tuple(
              fc.constantFrom('', '-'),
              fc.constantFrom('id', 'state', 'updated_at', ...Object.keys(fields)),
            ),
            { minLength: 1, maxLength: 3 },
          ),
          limit: fc.integer({ min: 1, max: 5 }),
        }),
      );
      const created = { field: { key: 'created_at', type: 'datetime' as const, system: true } };
      await fc.assert(
        fc.asyncProperty(cases, async ({ fields, records: drawn, changes, filters, sorts, limit }) => {
          const idOf = (nth: number): string => ['a', 'ab', 'B', '😀', '\uE000'][nth] ?? `r${nth}`;
          const first = drawn.map((each, nth) => ({ ...each, id: idOf(nth) }));
          const { generation, commit } = await filled(first, fields);
          // Some records are replaced, deleted or new.
          const second = changes.map((each, nth) => ({ id: idOf(2 * nth), record: each }));
          const written = second.map(({ id, record: each }) =>
            put(id, 2, each === null ? null : documentOf({ ...each, id }, fields)),
          );
          await commit(written, 2);
          const records = [
            ...first.filter(({ id }) => !second.some((each) => each.id === id)),
            ...second.flatMap(({ id, record: each }) => (each === null ? [] : [{ ...each, id }])),
          ];
          for (const { text } of filters) {
            const filter = parseFilter(text, fields);
            for (const direction of ['asc', 'desc'] as const) {
              const found = await pages(store(), generation, { ...base, filter, order: direction, limit });
              const expected = expectedIds(records, filter, { ...created, direction });
              expect(found, `${text} ${direction}`).to.deep.equal(expected);
            }
            const count = records.filter((each) => matches(filter, each, NOW)).length;
            expect(await store().count(generation, { ...base, filter }), text).to.equal(count);
          }
          for (const [nth, [way, key]] of sorts.entries()) {
            if (fields[key]?.type === 'json' && Object.hasOwn(fields, key)) continue;
            const sort = parseSort(`${way}${key}`, fields);
            const some = nth === 0 ? undefined : parseFilter(filters[nth]?.text ?? 'true', fields);
            for (const filter of [some, ...between(records, sort, nth)]) {
              const found = await pages(store(), generation, { ...base, filter, sort, limit });
              const shown = `${way}${key} ${JSON.stringify(filter)}`;
              expect(found, shown).to.deep.equal(expectedIds(records, filter, sort));
            }
          }
          await store().drop(generation);
        }),
        { numRuns: harness().runs },
      );
    });
  });
}
