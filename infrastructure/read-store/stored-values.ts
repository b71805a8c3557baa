import { z } from 'zod';
import type { Position } from '../../application/ports/event-store.ts';
import type {
  CollectionSpec,
  IndexSpec,
  JsonObject,
  SubscriberProgress,
} from '../../application/ports/read-store.ts';

/** Narrows a stored text to a position. */
export function positionOf(text: string): Position {
  if (!isPosition(text)) throw new TypeError('an empty position is stored');
  return text;
}

export const optionalPosition = (text: string | undefined | null): Position | undefined =>
  text === undefined || text === null ? undefined : positionOf(text);

function isPosition(text: string): text is Position {
  return text !== '';
}

/** The stored row of a parked tenant. */
export const parkedRow = z.object({
  tenant: z.string(),
  position: z.string().transform(positionOf),
  event_id: z.string(),
  error: z.string(),
  since: z.string(),
  attempts: z.number(),
});

type Behind = SubscriberProgress['behind'];
const storedBehind = z.record(z.string(), z.string());

/** The stored form of the tenants that are behind in a subscriber. */
export const textOfBehind = (behind: Behind): string => JSON.stringify(Object.fromEntries(behind));

export const behindOf = (text: string | undefined): Behind =>
  new Map(
    Object.entries(storedBehind.parse(JSON.parse(text ?? '{}'))).map(([tenant, place]) => [
      tenant,
      place === '' ? '' : positionOf(place),
    ]),
  );

/** Parses a document's stored text. */
export function parseDocument(text: string): JsonObject {
  const value: unknown = JSON.parse(text);
  if (!isDocument(value)) throw new TypeError('a stored document is no JSON object');
  return value;
}

export function isDocument(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Names that become part of table, field and lease names. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{0,99}$/;
/** Without dots, since an index name is part of a MongoDB field name. */
const INDEX_NAME = /^[A-Za-z][A-Za-z0-9_]{0,62}$/;

/** @throws {TypeError} for a name that an adapter could not store safely */
export function checkNames(projection: string, tag: string, collections: readonly CollectionSpec[]): void {
  for (const name of [projection, tag, ...collections.map((each) => each.name)]) {
    if (!NAME.test(name)) throw new TypeError(`${JSON.stringify(name)} is no valid name in a read store`);
  }
  for (const index of collections.flatMap((each) => each.indexes)) {
    if (!INDEX_NAME.test(index.name))
      throw new TypeError(`${JSON.stringify(index.name)} is no valid index name`);
  }
}

const storedIndexes = z.array(
  z.object({
    name: z.string(),
    fields: z.array(z.string()),
    multi: z.string().optional(),
    present: z.string().optional(),
  }),
);
const storedSpec = z.union([
  storedIndexes.transform((indexes) => ({ indexes, searchable: false, scopedBy: undefined })),
  z.object({ indexes: storedIndexes, searchable: z.literal(true), scopedBy: z.string().optional() }),
]);

/**
 * The stored form of a collection's specification. A generation is prepared once: changing its indexes later would
 * omit older documents.
 */
export function specText({ indexes, searchable, scopedBy }: Omit<CollectionSpec, 'name'>): string {
  const list = indexes.map(({ name, fields, multi, present }) => ({ name, fields, multi, present }));
  return JSON.stringify(searchable === true ? { indexes: list, searchable, scopedBy } : list);
}

export function specOf(text: string): {
  indexes: readonly IndexSpec[];
  searchable: boolean;
  scopedBy?: string | undefined;
} {
  return storedSpec.parse(JSON.parse(text));
}

export function checkSameSpec(stored: string, wanted: CollectionSpec): void {
  if (stored === specText(wanted)) return;
  throw new Error(
    `collection ${wanted.name} was prepared with other indexes: give the projection a new version`,
  );
}
