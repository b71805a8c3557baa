import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Position } from '../../application/ports/event-store.ts';
import { type DomainError, invalid } from '../../domain/core/errors.ts';
import type { PageEnd } from '../../domain/core/projection.ts';

/**
 * Cursors of lists: the end of a page, opaque to callers. Not signed: wherever a list begins, it has only rows that its
 * caller may read.
 */

const pageEnd = z.object({
  values: z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])).max(8),
  id: z.string().max(500),
  shown: z
    .array(z.tuple([z.string().max(100), z.string().max(20)]))
    .max(20)
    .optional(),
  list: z.string().max(8).optional(),
});

/** Identifies a list by everything that selects and orders its rows, so that cursors of other lists are refused. */
export const listName = (...parts: readonly (string | undefined)[]): string =>
  createHash('sha256')
    .update(JSON.stringify(parts.map((part) => part ?? null)))
    .digest('hex')
    .slice(0, 8);

export const encodeCursor = (end: PageEnd, list?: string): string =>
  Buffer.from(JSON.stringify({ values: end.values, id: end.id, shown: end.shown, list })).toString(
    'base64url',
  );

/** @param list from {@link listName} @throws 400 for a malformed cursor, and for a cursor of another list */
export const decodeCursor = (cursor: string | undefined, list?: string): PageEnd | undefined => {
  if (cursor === undefined) return undefined;
  const end = parsed(cursor);
  if (end === undefined || end.list !== list) throw invalidCursor();
  const { values, id, shown } = end;
  return shown === undefined ? { values, id } : { values, id, shown };
};

const parsed = (cursor: string): z.infer<typeof pageEnd> | undefined => {
  try {
    return pageEnd.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
  } catch {
    return undefined;
  }
};

export const invalidCursor = (): DomainError =>
  invalid([{ path: 'cursor', code: 'invalid_format', message: 'This cursor is not valid for this list.' }]);

/** Decodes the position at which the previous page of events ended. @throws 400 for a cursor without a position */
export const decodePosition = (
  cursor: string | undefined,
  parse: (text: string) => Position | undefined,
  list?: string,
): Position | undefined => {
  const end = decodeCursor(cursor, list);
  if (end === undefined) return undefined;
  const [text] = end.values;
  const position = typeof text === 'string' ? parse(text) : undefined;
  if (position === undefined) throw invalidCursor();
  return position;
};

/** Like {@link nextPage}, but for a list of events. */
export const nextPosition = (position: Position | undefined, list?: string) =>
  nextPage(position === undefined ? undefined : { values: [position], id: '' }, list);

/** The value of `Reply.next`. */
export const nextPage = (end: PageEnd | undefined, list?: string): Record<string, string> | undefined =>
  end === undefined ? undefined : { cursor: encodeCursor(end, list) };
