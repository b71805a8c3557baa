import { expect } from 'chai';
import fc from 'fast-check';
import type {
  Cursor,
  FindQuery,
  GenerationId,
  IndexSpec,
  JsonObject,
  ReadStore,
} from '../../../application/ports/read-store.ts';
import type { Scalar } from '../../../domain/core/projection.ts';
import { INDEXES, modelRows, scalar, steps } from './model.ts';
import { type Context, put, rejectsWith, workbench } from './support.ts';

/** Reads all pages of a query. */
async function pages(store: ReadStore, generation: GenerationId, query: FindQuery): Promise<string[]> {
  const ids: string[] = [];
  let after: Cursor | undefined = query.after;
  for (;;) {
    const page = await store.find(generation, { ...query, after });
    ids.push(...page.docs.map((doc) => doc.id));
    if (page.next === undefined) return ids;
    expect(page.docs, 'a page that others follow is full').to.have.length(query.limit);
    after = page.next;
  }
}

const base = { collection: 'docs', tenant: 'acme' };

export function indexTests({ store, harness }: Context): void {
  describe('indexes', () => {
    it('order null < booleans < numbers < strings by UTF-8 bytes, and ties by id', async () => {
      const { commit, ids, generation } = await workbench(store());
      const ordered: (Scalar | undefined)[] = [null, false, true, -1e300, -2.5, -1, 0, 1e-9, 1, 2, 10, 1e300];
      ordered.push('', '\u0001', ' ', '10', '9', 'A', 'a', 'a\u0001', 'aa', 'é', '\uE000', '\uFFFD', '😀');
      const names = ordered.map((_, nth) => `d${String(nth).padStart(2, '0')}`);
      const writes = names.map((id, nth) => put(id, 1, { n: ordered[nth] ?? null }));
      await commit([...writes.toReversed(), put('absent', 1, {}), put('object', 1, { n: { x: 1 } })], 1);
      const [first, ...rest] = names;
      expect(await ids()).to.deep.equal(['absent', first, 'object', ...rest]);
      const descending = await store().find(generation, {
        ...base,
        index: 'by_n',
        order: 'desc',
        limit: 100,
      });
      expect(descending.docs.map((doc) => doc.id)).to.deep.equal((await ids()).toReversed());
    });

    it('follow a document that changes', async () => {
      const { commit, generation } = await workbench(store());
      await commit([put('a', 1, { n: 1 }), put('b', 1, { n: 2 })], 1);
      await commit([put('a', 2, { n: 3 })], 2);
      const find = async (n: number) =>
        (await store().find(generation, { ...base, index: 'by_n', equals: [n], limit: 9 })).docs;
      expect(await find(1)).to.deep.equal([]);
      expect(await find(3)).to.deep.equal([{ id: 'a', value: { n: 3 } }]);
    });

    it('return a cursor only while more rows follow', async () => {
      const { commit, generation } = await workbench(store());
      const query = { ...base, index: 'by_n' };
      expect(await store().find(generation, { ...query, limit: 1 })).to.deep.equal({ docs: [] });
      await commit(
        [1, 2, 3].map((n) => put(`d${n}`, 1, { n: 7 })),
        1,
      );
      const first = await store().find(generation, { ...query, limit: 2 });
      expect(first.next).to.deep.equal({ values: [7], id: 'd2' });
      const second = await store().find(generation, { ...query, limit: 2, after: first.next });
      expect(second).to.deep.equal({ docs: [{ id: 'd3', value: { n: 7 } }] });
      expect((await store().find(generation, { ...query, limit: 3 })).next).to.equal(undefined);
      expect((await store().find(generation, { ...query, limit: 100_000 })).docs).to.have.length(3);
      const equal = await store().find(generation, { ...query, equals: [7], limit: 1 });
      expect(equal.next).to.deep.equal({ values: [], id: 'd1' });
    });

    it('continue after a cursor while documents are added, deleted and moved', async () => {
      const { commit, generation } = await workbench(store());
      const query = { ...base, index: 'by_n', limit: 2 };
      await commit(
        [1, 2, 3, 4, 5].map((n) => put(`d${n}`, 1, { n })),
        1,
      );
      const first = await store().find(generation, query);
      await commit(
        [put('d2', 2, null), put('d0', 2, { n: 0 }), put('d4', 2, { n: 9 }), put('d35', 2, { n: 3.5 })],
        2,
      );
      expect(await pages(store(), generation, { ...query, after: first.next })).to.deep.equal([
        'd3',
        'd35',
        'd5',
        'd4',
      ]);
    });

    it('skip documents without a required value', async () => {
      const indexes = [{ name: 'open', fields: ['n', 'due'], present: 'due' }];
      const { commit, generation } = await workbench(store(), { name: 'docs', indexes });
      await commit(
        [put('a', 1, { n: 1, due: 5 }), put('b', 1, { n: 1 }), put('c', 1, { n: 1, due: null })],
        1,
      );
      const query = { ...base, index: 'open', equals: [1], limit: 9 };
      const idsOf = async () => (await store().find(generation, query)).docs.map(({ id }) => id);
      expect(await idsOf()).to.deep.equal(['a']);
      expect(await store().entries(generation, query)).to.deep.equal([{ values: [5], id: 'a' }]);
      await commit([put('a', 2, { n: 1, due: null }), put('b', 2, { n: 1, due: 3 })], 2);
      expect(await idsOf()).to.deep.equal(['b']);
      expect(await store().entries(generation, query)).to.deep.equal([{ values: [3], id: 'b' }]);
    });

    it('refuse queries that they cannot answer', async () => {
      const { generation } = await workbench(store());
      const find = (query: Partial<FindQuery>) =>
        store().find(generation, { ...base, index: 'by_n', limit: 1, ...query });
      await rejectsWith(find({ index: 'none' }), Error);
      await rejectsWith(store().entries(generation, { ...base, index: 'none', limit: 1 }), Error);
      await rejectsWith(store().entries(generation, { ...base, index: 'by_n', limit: 0 }), RangeError);
      await rejectsWith(find({ limit: 0 }), RangeError);
      await rejectsWith(find({ limit: 1.5 }), RangeError);
      await rejectsWith(find({ equals: [1, 2] }), TypeError);
      await rejectsWith(find({ equals: [1], range: { gt: 1 } }), TypeError);
      await rejectsWith(find({ after: { values: [], id: 'a' } }), TypeError);
    });

    it('answer every query like a plain array, with every row exactly once', async function () {
      this.timeout(120_000);
      const spec = { name: 'docs', indexes: INDEXES };
      await fc.assert(
        fc.asyncProperty(
          steps,
          fc.array(query(), { minLength: 4, maxLength: 8 }),
          async (written, queries) => {
            const { commit, generation } = await workbench(store(), spec);
            const model = new Map<string, JsonObject>();
            for (const [nth, { id, value }] of written.entries()) {
              if (value === null) model.delete(id);
              else model.set(id, value);
              // Documents of another tenant must not appear.
              const foreign = put(id, nth + 1, { a: 1, tags: ['a'], people: [{ id: null }] }, 'other');
              await commit([put(id, nth + 1, value), foreign], nth + 1);
            }
            for (const { index, ...rest } of queries) {
              const asked = { ...base, ...rest, index: index.name };
              const rows = modelRows(model, index, asked);
              const expected = rows.map((row) => row.id);
              const found = await pages(store(), generation, asked);
              expect(found, JSON.stringify(asked)).to.deep.equal(expected);
              if (index.multi !== undefined) {
                await rejectsWith(store().entries(generation, asked), TypeError);
                continue;
              }
              const from = asked.equals?.length ?? 0;
              expect(await store().entries(generation, asked), JSON.stringify(asked)).to.deep.equal(
                rows.slice(0, asked.limit).map(({ values, id }) => ({ values: values.slice(from), id })),
              );
            }
            await store().drop(generation);
          },
        ),
        { numRuns: harness().runs },
      );
    });
  });
}

type Asked = Omit<FindQuery, 'collection' | 'tenant' | 'index'> & { readonly index: IndexSpec };

const bound = fc.option(scalar, { nil: undefined });
const range = fc.oneof(
  fc.constant(undefined),
  fc.record({ gt: bound, lt: bound }),
  fc.record({ gte: bound, lte: bound }),
  fc.record({ gte: bound, lt: bound }),
);

function query(): fc.Arbitrary<Asked> {
  return fc
    .record({
      index: fc.constantFrom(...INDEXES),
      equals: fc.array(scalar, { maxLength: 3 }),
      range,
      order: fc.constantFrom(undefined, 'asc' as const, 'desc' as const),
      limit: fc.integer({ min: 1, max: 6 }),
    })
    .map(({ index, equals, range: bounds, order, limit }): Asked => {
      const fixed = equals.slice(0, index.fields.length);
      const { gt, gte, lt, lte } = {
        gt: undefined,
        gte: undefined,
        lt: undefined,
        lte: undefined,
        ...bounds,
      };
      const open = fixed.length < index.fields.length;
      const given = Object.entries({ gt, gte, lt, lte }).filter(([, value]) => value !== undefined);
      return { index, equals: fixed, range: open ? Object.fromEntries(given) : undefined, order, limit };
    });
}
