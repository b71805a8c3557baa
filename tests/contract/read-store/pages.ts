import { expect } from 'chai';
import type { Cursor, FindQuery, FindResult, SearchQuery } from '../../../application/ports/read-store.ts';
import { parseFilter } from '../../../domain/expressions/filter.ts';
import { parseSort } from '../../../domain/expressions/sort.ts';
import type { FieldSpecs } from '../../../domain/expressions/tree.ts';
import { documentOf } from '../../support/filters.ts';
import { type Context, put, type Workbench, workbench } from './support.ts';

/** Half a page. */
const HALF = 512 * 1024;
const FIELDS: FieldSpecs = { n: { type: 'integer' } };

/** Size limits of pages of documents. */
export function pageTests({ store }: Context): void {
  describe('pages of large documents', function () {
    this.timeout(90_000);
    const ids = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
    const base = { collection: 'docs', tenant: 'acme', limit: 50 };
    const ofEntity = { ...base, index: 'by_entity', equals: ['order'], now: 0 };
    let bench: Workbench;

    /** Texts with twice as many bytes as characters. */
    const filled = (size: number) => 'ä'.repeat(size / 2);

    before(async () => {
      bench = await workbench(store(), {
        name: 'docs',
        indexes: [
          { name: 'by_entity', fields: ['entity_name', 'created_at'] },
          { name: 'by_ref', fields: ['refs', 'created_at'], multi: 'refs' },
        ],
        searchable: true,
      });
      const sizes = [0.6, 0.6, 0.6, 0.6, 2.1, 2.1, 0.01];
      const writes = ids.map((id, nth) => {
        const at = new Date(nth * 1000).toISOString();
        const record = { id, state: null, created_at: at, updated_at: at, values: { n: nth } };
        const text = filled((sizes[nth] ?? 0) * HALF);
        return put(id, 1, { ...documentOf(record, FIELDS), refs: ['x', 'y'], text });
      });
      for (const [nth, write] of writes.entries()) await bench.commit([write], nth + 1);
    });

    async function pagesOf(read: (after: Cursor | undefined) => Promise<FindResult>): Promise<string[]> {
      const found: string[] = [];
      let after: Cursor | undefined;
      do {
        const { docs, next } = await read(after);
        found.push(docs.map(({ id }) => id).join(''));
        for (const { value } of docs) expect(value.text).to.be.a('string');
        after = next;
      } while (after !== undefined);
      return found;
    }
    const searched = (query: Partial<SearchQuery>) =>
      pagesOf((after) => store().search(bench.generation, { ...ofEntity, ...query, after }));
    const listed = (query: Partial<FindQuery>) =>
      pagesOf((after) =>
        store().find(bench.generation, { ...base, index: 'by_entity', equals: ['order'], ...query, after }),
      );

    it('hold at most 1 MiB or one larger document, and continue after it', async () => {
      expect(await searched({})).to.deep.equal(['abc', 'd', 'e', 'f', 'g']);
      expect(await searched({ order: 'desc' })).to.deep.equal(['g', 'f', 'e', 'dcb', 'a']);
      expect(await searched({ limit: 2 })).to.deep.equal(['ab', 'cd', 'e', 'f', 'g']);
    });

    it('are bounded when filtered and sorted', async () => {
      const filter = parseFilter('n != 1', FIELDS);
      expect(await searched({ filter })).to.deep.equal(['acd', 'e', 'f', 'g']);
      expect(await searched({ sort: parseSort('-n', FIELDS) })).to.deep.equal(['g', 'f', 'e', 'dcb', 'a']);
      expect(await searched({ filter, sort: parseSort('n', FIELDS) })).to.deep.equal(['acd', 'e', 'f', 'g']);
    });

    it('are bounded in a list', async () => {
      expect(await listed({})).to.deep.equal(['abc', 'd', 'e', 'f', 'g']);
      expect(await listed({ order: 'desc' })).to.deep.equal(['g', 'f', 'e', 'dcb', 'a']);
    });

    it('are bounded for an index with several entries per document', async () => {
      const one = { index: 'by_ref', equals: ['x'] };
      expect(await listed(one)).to.deep.equal(['abc', 'd', 'e', 'f', 'g']);
      const all = ['abc', 'd', 'e', 'f', 'ga', 'bcd', 'e', 'f', 'g'];
      expect((await listed({ index: 'by_ref', equals: [] })).join('')).to.equal(all.join(''));
    });

    it('are not bounded for ids alone', async () => {
      expect(await store().ids(bench.generation, ofEntity)).to.deep.equal({ ids });
    });
  });
}
