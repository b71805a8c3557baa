import { create as attachment } from 'content-disposition';
import { z } from 'zod';
import type { Written } from '../../application/core/commands/command.ts';
import type { Position } from '../../application/ports/event-store.ts';
import { notFound } from '../../domain/core/errors.ts';
import { iso, type Page, type PageRequest } from '../../domain/core/projection.ts';
import { decodeCursor, nextPage } from '../http/cursor.ts';
import type { Method, Reply } from '../http/route.ts';
import { cursor, limit } from '../http/schemas.ts';

/** Replies that the routes of several areas give. */

/** The query of a list that is read in pages. */
export const pageQuery = z.object({ limit: limit(), cursor });

/** The parts of a route that every list has. */
export const list = <V extends z.ZodType, Q extends z.ZodType>(view: V, query: Q) =>
  ({ method: 'get', query, responses: { 200: z.array(view) } }) as const;

/** Like {@link list}, but for a list in pages without other parameters. */
export const pagedList = <V extends z.ZodType>(view: V) => list(view, pageQuery);

/** The parts of a route on the one resource that its path names. */
export const one = <M extends Method, V extends z.ZodType, P extends z.ZodType>(
  method: M,
  view: V,
  params: P,
) => ({ method, params, responses: { 200: view } }) as const;

/** The parts of a route that makes a resource. */
export const creation = <V extends z.ZodType, B extends z.ZodType>(view: V, body: B) =>
  ({ method: 'post', body, responses: { 201: view } }) as const;

/** The parts of a route whose answer is a text of another media type than JSON. */
export const textAnswer = (produces: string) =>
  ({ method: 'get', produces, responses: { 200: null } }) as const;

/** Like {@link one}, but for a removal; the answer has no body. */
export const removal = <P extends z.ZodType>(params: P) =>
  ({ method: 'delete', params, responses: { 204: null } }) as const;

/**
 * A page of a list.
 * @param view converts a document to its form in the answer
 * @param list name of a list that depends on more than its path (`listName`)
 */
export const listReply = async <D>(
  query: z.output<typeof pageQuery>,
  find: (page: PageRequest) => Promise<Page<D>>,
  view: (document: D) => unknown = (document) => document,
  list?: string,
): Promise<Reply> => {
  const after = decodeCursor(query.cursor, list);
  const { docs, next } = await find({ limit: query.limit, after });
  return { status: 200, body: await Promise.all(docs.map((doc) => view(doc))), next: nextPage(next, list) };
};

export const ok = (body: unknown): Reply => ({ status: 200, body });

/** Makes the answers of writes: the view of the object that a use case returns under `name`. */
export const written =
  <N extends string, T>(name: N, view: (made: T) => unknown) =>
  (status: number, made: Written<{ readonly [K in N]: T }>): Reply => ({
    status,
    body: view(made[name]),
    position: made.position,
  });

/** The answer of a write that has nothing to show. */
export const gone = (position: Position | undefined): Reply => ({ status: 204, position });

/** The members of a document that its view has, in the view's order. */
export const shown = <V extends z.ZodObject>({ shape }: V, document: z.output<V>) => {
  const members: Record<string, unknown> = {};
  for (const name in shape) members[name] = document[name];
  return members;
};

export const isoOrNull = (ms: number | null | undefined): string | null =>
  ms === null || ms === undefined ? null : iso(ms);

/** @throws 404 for an undefined document */
export const found = <D>(document: D | undefined): D => {
  if (document === undefined) throw notFound();
  return document;
};

/** A file to save. */
export const download = (filename: string, type: string, body: unknown): Reply => ({
  status: 200,
  headers: { 'Content-Type': type, 'Content-Disposition': attachment(filename) },
  body,
});
