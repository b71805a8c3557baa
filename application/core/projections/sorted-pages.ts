import { hash } from 'node:crypto';
import type { Page, PageEnd, ShownRow } from '../../../domain/core/projection.ts';
import { MAX_LONG_TEXT } from '../../../domain/entities/fields.ts';
import { compareText } from '../../../domain/expressions/compare.ts';
import type { SortField } from '../../../domain/expressions/filter-tree.ts';
import { type OrderKey, ownValue } from '../../../domain/expressions/order-key.ts';

/** A row of a searchable collection; see the read store port. */
export interface SortedRow {
  readonly id: string;
  readonly keys: Readonly<Record<string, OrderKey>>;
}

export interface SortedList<D extends SortedRow> {
  /** Undefined for a list in its default order, whose cursors are short. */
  readonly sort: SortField | undefined;
  readonly after: PageEnd | undefined;
  /** Reads a row; undefined when it is deleted. */
  readonly read: (id: string) => Promise<D | undefined>;
  readonly search: (after: PageEnd | undefined) => Promise<Page<D>>;
}

/** Most UTF-16 units of a row's text in a cursor; of a longer text, the cursor has only the start. */
const HELD = 128;
/** Most rows that a cursor names. */
const NAMED = 8;
const LAST_CHARACTER = '\u{10FFFF}';

/**
 * Pages of a list sorted by a text of any length, with cursors of bounded size. A cursor holds the start of a long text
 * and the last rows shown; the next page starts after the last of these rows whose text is unchanged.
 */
export const sortedPage = async <D extends SortedRow>(list: SortedList<D>): Promise<Page<D>> => {
  const { sort, after, search } = list;
  if (sort === undefined) return search(after);
  const { docs, next, plan } = await search(await wholeEnd(list, sort));
  return { docs, plan, next: next === undefined ? undefined : shortEnd(docs, next, after, sort) };
};

/** Restores the end of the previous page with its whole text, as stores compare it. */
const wholeEnd = async <D extends SortedRow>(
  { after, read }: SortedList<D>,
  { field, direction }: SortField,
): Promise<PageEnd | undefined> => {
  const beginning = after?.values[0];
  if (after?.shown === undefined || typeof beginning !== 'string') return after;
  for (const [id, digest] of after.shown) {
    const row = await read(id);
    const text = row === undefined ? undefined : textOf(row, field);
    if (text !== undefined && digestOf(text) === digest) return { values: [text], id };
  }
  // All rows in the cursor have changed: the page begins before all texts with this start, so that no row is skipped.
  return direction === 'asc'
    ? { values: [beginning], id: '' }
    : { values: [beginning + LAST_CHARACTER.repeat(MAX_LONG_TEXT)], id: LAST_CHARACTER };
};

const shortEnd = (
  docs: readonly SortedRow[],
  end: PageEnd,
  before: PageEnd | undefined,
  { field, direction }: SortField,
): PageEnd => {
  const [text] = end.values;
  if (typeof text !== 'string' || text.length <= HELD) return end;
  const beginning = beginningOf(text);
  const sign = direction === 'desc' ? -1 : 1;
  const shown = new Map<string, string>([[end.id, digestOf(text)]]);
  for (const row of docs.toReversed()) {
    if (shown.size === NAMED) break;
    const other = textOf(row, field);
    if (other?.startsWith(beginning) !== true) continue;
    // Skips a row that was edited during the read and now sorts after the end.
    const order = compareText(other, text) || compareText(row.id, end.id);
    if (sign * order < 0) shown.set(row.id, digestOf(other));
  }
  const earlier: readonly ShownRow[] = before?.values[0] === beginning ? (before.shown ?? []) : [];
  for (const [id, digest] of earlier) if (!shown.has(id)) shown.set(id, digest);
  return { values: [beginning], id: end.id, shown: [...shown].slice(0, NAMED) };
};

const textOf = (row: SortedRow, { key, system }: SortField['field']): string | undefined => {
  const text = ownValue(system ? row : row.keys, key);
  return typeof text === 'string' ? text : undefined;
};

/** The start of a text, without a split surrogate pair. */
const beginningOf = (text: string): string => text.slice(0, HELD).replace(/[\uD800-\uDBFF]$/, '');

const digestOf = (text: string): string => hash('sha256', text, 'base64url').slice(0, 12);
