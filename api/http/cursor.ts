import { z } from 'zod';
import { invalid } from '../../domain/errors.ts';
import type { PageEnd } from '../../domain/projection.ts';

/** Cursors of lists: where a page ended, opaque to callers. Always read together with the caller's own tenant. */

const pageEnd = z.object({
  values: z.array(z.union([z.string(), z.number(), z.boolean(), z.null()])).max(8),
  id: z.string().max(500),
});

export const encodeCursor = (end: PageEnd): string =>
  Buffer.from(JSON.stringify({ values: end.values, id: end.id })).toString('base64url');

/** @throws 400 for a text that is no cursor */
export const decodeCursor = (cursor: string | undefined): PageEnd | undefined => {
  if (cursor === undefined) return undefined;
  try {
    return pageEnd.parse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8')));
  } catch {
    throw invalid([
      { path: 'cursor', code: 'invalid_format', message: 'This is not a cursor of this list.' },
    ]);
  }
};

/** For `Reply.next`. */
export const nextPage = (end: PageEnd | undefined): Record<string, string> | undefined =>
  end === undefined ? undefined : { cursor: encodeCursor(end) };
