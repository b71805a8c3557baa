import { z } from 'zod';
import type { SortedRow } from '../../../application/core/projections/sorted-pages.ts';
import type { CollectionSpec, DocWrite } from '../../../application/ports/read-store.ts';
import type { FieldSpecs } from '../../../domain/expressions/tree.ts';
import { documentOf, NOW } from '../../support/filters.ts';
import { BODY, type LongList, longSortsHold } from '../../support/sorted-pages.ts';
import { type Context, put, workbench } from './support.ts';

const RECORDS: CollectionSpec = {
  name: 'docs',
  indexes: [{ name: 'by_entity', fields: ['entity_name', 'created_at'] }],
  searchable: true,
};
const FIELDS: FieldSpecs = { [BODY]: { type: 'long_text' } };
const stored = z.object({ keys: z.record(z.string(), z.string()) });
const CREATED = '2026-01-01T00:00:00.000Z';

export function longSortTests({ store, harness }: Context): void {
  describe('sorts by a long text', () => {
    const list = async (): Promise<LongList> => {
      const { generation, commit, value } = await workbench(store(), RECORDS);
      const query = { collection: 'docs', tenant: 'acme', index: 'by_entity', equals: ['order'], now: NOW };
      let position = 0;
      const written = (id: string, text: string | null | undefined): DocWrite => {
        if (text === undefined) return put(id, position, null);
        const values = text === null ? {} : { [BODY]: text };
        const record = { id, state: null, created_at: CREATED, updated_at: CREATED, values };
        return put(id, position, documentOf(record, FIELDS));
      };
      const row = (id: string, doc: unknown): SortedRow => ({ id, keys: stored.parse(doc).keys });
      return {
        write: async (changes) => {
          position += 1;
          await commit(
            [...changes].map(([id, text]) => written(id, text)),
            position,
          );
        },
        read: async (id) => {
          const found = await value(id);
          return found === undefined ? undefined : row(id, found);
        },
        search: async (sort, limit, after) => {
          const { docs, next } = await store().search(generation, { ...query, sort, limit, after });
          return { docs: docs.map(({ id, value: doc }) => row(id, doc)), next };
        },
      };
    };

    it('are paged with short cursors, completely and in order, while rows change between pages', async function () {
      this.timeout(300_000);
      await longSortsHold(list, harness().runs);
    });
  });
}
