import { expect } from 'chai';
import type { SortedRow } from '../../application/core/projections/sorted-pages.ts';
import { compareText } from '../../domain/expressions/compare.ts';
import { allPages, BODY, type LongList, longSortsHold } from '../support/sorted-pages.ts';

/** A list in memory that answers as the SQLite and MongoDB read stores do. */
const memoryList = (): LongList => {
  const rows = new Map<string, string | null>();
  const shown = (id: string): SortedRow => {
    const text = rows.get(id) ?? null;
    return { id, keys: text === null ? {} : { [BODY]: text } };
  };
  return {
    write: async (changes) => {
      for (const [id, text] of changes) {
        if (text === undefined) rows.delete(id);
        else rows.set(id, text);
      }
    },
    read: async (id) => (rows.has(id) ? shown(id) : undefined),
    search: async ({ direction }, limit, after) => {
      const sign = direction === 'desc' ? -1 : 1;
      const compare = ([a, one]: [string, string | null], [b, other]: [string, string | null]): number =>
        sign *
        (Number(one !== null) - Number(other !== null) ||
          compareText(one ?? '', other ?? '') ||
          compareText(a, b));
      const value = after?.values[0];
      const end: [string, string | null] | undefined =
        after === undefined ? undefined : [after.id, typeof value === 'string' ? value : null];
      const found = [...rows].sort(compare).filter((row) => end === undefined || compare(row, end) > 0);
      const last = found[limit - 1];
      return {
        docs: found.slice(0, limit).map(([id]) => shown(id)),
        next: found.length > limit && last !== undefined ? { values: [last[1]], id: last[0] } : undefined,
      };
    },
  };
};

describe('Pages of a list sorted by a long text', () => {
  it('are complete and in order while rows change between them', async () => {
    await longSortsHold(async () => memoryList(), 1_000);
  }).timeout(120_000);

  it('skip no row when one row is edited during the read and the last row of the page is deleted', async () => {
    for (const direction of ['asc', 'desc'] as const) {
      const list = memoryList();
      const ids = direction === 'asc' ? [...'abcdef'] : [...'fedcba'];
      const long = 'x'.repeat(5_000);
      await list.write(new Map(ids.map((id) => [id, `${long}${id}`])));
      const moved = { id: ids[1] ?? '', keys: { [BODY]: `${long}${ids[4]}~` } };
      const search: LongList['search'] = async (sort, limit, after) => {
        const page = await list.search(sort, limit, after);
        return { ...page, docs: page.docs.map((row) => (row.id === moved.id ? moved : row)) };
      };
      const seen = await allPages({ ...list, search }, direction, 3, async (page) => {
        if (page > 0) return;
        await list.write(
          new Map([
            [moved.id, moved.keys[BODY]],
            [ids[2] ?? '', undefined],
          ]),
        );
      });
      const others = (all: readonly string[]): string[] => all.filter((id) => id !== moved.id);
      expect(others(seen)).to.deep.equal(others(ids));
    }
  });

  it('skip no row when all rows named in the cursor have changed', async () => {
    const cases = [
      ['asc', 'x'],
      ['desc', 'x'],
      ['desc', '\u{10FFFF}'],
    ] as const;
    for (const [direction, character] of cases) {
      const list = memoryList();
      const ids = Array.from({ length: 40 }, (_, nth) => String(nth).padStart(2, '0'));
      await list.write(new Map(ids.map((id) => [id, `${character.repeat(5_000)}${id}`])));
      const seen = await allPages(list, direction, 20, async (page) => {
        if (page > 0) return;
        const last = direction === 'asc' ? ids.slice(10, 20) : ids.slice(20, 30);
        await list.write(new Map(last.map((id) => [id, undefined])));
      });
      expect(new Set(seen)).to.deep.equal(new Set(ids));
    }
  });
});
