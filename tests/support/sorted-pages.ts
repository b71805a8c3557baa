import { expect } from 'chai';
import fc from 'fast-check';
import { decodeCursor, encodeCursor } from '../../api/http/cursor.ts';
import { type SortedRow, sortedPage } from '../../application/core/projections/sorted-pages.ts';
import type { Page, PageEnd } from '../../domain/core/projection.ts';
import { compareText } from '../../domain/expressions/compare.ts';
import type { SortField } from '../../domain/expressions/filter-tree.ts';

/** Checks lists sorted by long texts against plain sorting. */

/** The rows of one list in a store. */
export interface LongList {
  /** Undefined deletes the row; null is a row without a text. */
  write(changes: ReadonlyMap<string, string | null | undefined>): Promise<void>;
  read(id: string): Promise<SortedRow | undefined>;
  search(sort: SortField, limit: number, after: PageEnd | undefined): Promise<Page<SortedRow>>;
}

export const BODY = 'body';
const sortBy = (direction: 'asc' | 'desc'): SortField => ({
  field: { key: BODY, type: 'long_text', system: false },
  direction,
});

const idOf = (nth: number): string => `00000000-0000-4000-8000-${String(nth).padStart(12, '0')}`;

/** Long prefixes shared by many rows; cursors cut them within and between characters of each size. */
const beginnings = ['x'.repeat(3_000), 'é'.repeat(2_000), `x${'😀'.repeat(500)}`, '\u0001'.repeat(2_000), ''];
const text = fc
  .oneof(
    {
      weight: 6,
      arbitrary: fc.tuple(fc.constantFrom(...beginnings), fc.constantFrom('', 'a', 'é', '😀', '\u{10FFFD}')),
    },
    { weight: 1, arbitrary: fc.constant(undefined) },
  )
  .map((parts) => parts?.join('') ?? null);

/** Maximum number of changes during one read of the list; a cursor can name one row more. */
const MAX_CHANGES = 7;

/** After page `page`, gives the row `back` rows before the end of that page the text `to`; undefined deletes it. */
const change = fc.record({
  page: fc.nat({ max: 4 }),
  back: fc.nat({ max: MAX_CHANGES }),
  to: fc.option(text, { nil: undefined }),
});

const lists = fc.record({
  texts: fc.array(text, { minLength: 1, maxLength: 25 }),
  changes: fc.array(change, { maxLength: MAX_CHANGES }),
  direction: fc.constantFrom('asc', 'desc'),
  limit: fc.integer({ min: 1, max: 6 }),
});

type Texts = ReadonlyMap<string, string | null>;

const inOrder = (rows: Texts, direction: 'asc' | 'desc'): string[] => {
  const ids = [...rows].sort(
    ([a, one], [b, other]) =>
      Number(one !== null) - Number(other !== null) ||
      compareText(one ?? '', other ?? '') ||
      compareText(a, b),
  );
  return (direction === 'desc' ? ids.reverse() : ids).map(([id]) => id);
};

/** Reads all pages. @param between called after each page but the last */
export const allPages = async (
  list: LongList,
  direction: 'asc' | 'desc',
  limit: number,
  between: (page: number, seen: readonly string[]) => Promise<void> = async () => undefined,
): Promise<string[]> => {
  const sort = sortBy(direction);
  const seen: string[] = [];
  let after: PageEnd | undefined;
  for (let page = 0; page < 1_000; page += 1) {
    const { docs, next } = await sortedPage({
      sort,
      after,
      read: (id) => list.read(id),
      search: (end) => list.search(sort, limit, end),
    });
    seen.push(...docs.map(({ id }) => id));
    if (next === undefined) return seen;
    const cursor = encodeCursor(next, 'the list');
    expect(cursor.length, 'characters of a cursor').to.be.at.most(2_000);
    after = decodeCursor(cursor, 'the list');
    await between(page, seen);
  }
  throw new Error('the list never ends');
};

/** Checks that pages are complete and in order, and that each row that does not change meanwhile is on one of them. */
export const longSortsHold = (make: () => Promise<LongList>, numRuns: number): Promise<void> =>
  fc.assert(
    fc.asyncProperty(lists, async ({ texts, changes, direction, limit }) => {
      const list = await make();
      const rows = new Map(texts.map((each, nth) => [idOf(nth), each]));
      await list.write(rows);
      expect(await allPages(list, direction, limit), 'nothing changes').to.deep.equal(
        inOrder(rows, direction),
      );
      const changed = new Set<string>();
      const seen = await allPages(list, direction, limit, async (page, shown) => {
        const now = new Map<string, string | null | undefined>();
        for (const { back, to, page: at } of changes) {
          const id = shown.at(-1 - back);
          if (at === page && id !== undefined) now.set(id, to);
        }
        if (now.size > 0) await list.write(now);
        for (const id of now.keys()) changed.add(id);
      });
      const unchanged = inOrder(rows, direction).filter((id) => !changed.has(id));
      expect(
        seen.filter((id) => !changed.has(id)),
        'some rows change',
      ).to.deep.equal(unchanged);
    }),
    { numRuns },
  );
