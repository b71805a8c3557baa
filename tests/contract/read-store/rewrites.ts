import { expect } from 'chai';
import fc from 'fast-check';
import type {
  CollectionSpec,
  DocWrite,
  GenerationId,
  JsonObject,
  ReadStore,
  StoredDoc,
} from '../../../application/ports/read-store.ts';
import { parseFilterText } from '../../../domain/expressions/filter.ts';
import type { FieldSpecs } from '../../../domain/expressions/tree.ts';
import { documentOf, NOW } from '../../support/filters.ts';
import { type Context, put, workbench } from './support.ts';

/** Documents whose keys change little or not at all between writes. */

const SPEC: CollectionSpec = {
  name: 'docs',
  indexes: [
    { name: 'by_entity', fields: ['entity_name', 'created_at'] },
    { name: 'by_title', fields: ['values.title'] },
    { name: 'by_state', fields: ['state', 'values.title'], present: 'state' },
    { name: 'by_tag', fields: ['tags', 'state'], multi: 'tags' },
  ],
  searchable: true,
};
const FIELDS: FieldSpecs = { n: { type: 'integer' }, title: { type: 'text' } };
const FILTERS = ['n == 1', 'n == null', 'title == "a"', 'state == "open"', 'n < 2 || title == "b"'].map(
  (text) => parseFilterText(text, FIELDS),
);

const change = fc.record({
  id: fc.constantFrom('a', 'b'),
  tenant: fc.constantFrom('acme', 'globex'),
  gone: fc.nat(9).map((n) => n === 0),
  n: fc.option(fc.nat(2), { nil: undefined }),
  title: fc.constantFrom('a', 'b'),
  tags: fc.subarray(['x', 'y']),
  state: fc.constantFrom('open', null),
  /** Age difference to the stored document, for a repeated batch. */
  late: fc.constantFrom(0, 0, 0, 3),
  /** The document that the writer has read. */
  read: fc.constantFrom('nothing', 'latest', 'latest', 'former'),
});

const storedOf = ({ value, position }: DocWrite): StoredDoc | undefined =>
  value === null ? undefined : { value, position };

export function rewriteTests({ store, harness }: Context): void {
  describe('Rewritten documents', () => {
    const all = async (on: ReadStore, generation: GenerationId) => {
      const found: unknown[] = [];
      for (const tenant of ['acme', 'globex']) {
        const base = { collection: 'docs', tenant, limit: 50 };
        for (const { name: index } of SPEC.indexes) {
          for (const order of ['asc', 'desc'] as const)
            found.push(await on.find(generation, { ...base, index, order }));
        }
        for (const filter of FILTERS) {
          const query = { ...base, index: 'by_entity', equals: ['order'], now: NOW, filter };
          found.push(await on.ids(generation, query));
        }
        for (const id of ['a', 'b'])
          found.push((await on.get(generation, { collection: 'docs', tenant, id }))?.value);
      }
      return found;
    };

    it('are found as if they had been written only once', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(change, { minLength: 1, maxLength: 25 }), async (changes) => {
          const { generation, commit } = await workbench(store(), SPEC);
          interface Written {
            readonly at: number;
            readonly id: string;
            readonly tenant: string;
            readonly value: JsonObject | null;
          }
          const last = new Map<string, Written>();
          const former = new Map<string, Written>();
          for (const [nth, { id, tenant, gone, n, title, tags, state, late, read }] of changes.entries()) {
            const record = {
              id,
              state,
              created_at: '2026-01-01T00:00:00.000Z',
              updated_at: '2026-01-01T00:00:00.000Z',
              values: { title, ...(n === undefined ? {} : { n }) },
            };
            const value = gone ? null : { ...documentOf(record, FIELDS), tags };
            const at = 10 + nth - late;
            const key = `${tenant}/${id}`;
            const there = last.get(key);
            const known = read === 'nothing' ? undefined : read === 'latest' ? there : former.get(key);
            const write = put(id, at, value, tenant);
            await commit([{ ...write, replaces: known && storedOf(put(id, known.at, known.value)) }]);
            if (there !== undefined && there.at >= at) continue;
            if (there !== undefined) former.set(key, there);
            last.set(key, { at, id, tenant, value });
          }
          const fresh = await workbench(store(), SPEC);
          const finals = [...last.values()].filter(({ value }) => value !== null);
          await fresh.commit(finals.map(({ id, tenant, at, value }) => put(id, at, value, tenant)));
          expect(await all(store(), generation)).to.deep.equal(await all(store(), fresh.generation));
        }),
        { numRuns: Math.min(harness().runs, 100) },
      );
    }).timeout(120_000);
  });
}
