import type { JsonObject } from '../../application/ports/read-store.ts';
import type { Scalar } from '../../domain/core/projection.ts';
import type { FilterField } from '../../domain/expressions/filter-tree.ts';
import { SYSTEM_FIELDS, searchedFields } from './searched.ts';
import { isDocument } from './stored-values.ts';

/**
 * The index over the fields that filters and sorts name. A scope is one entity of one tenant. Each document
 * has an entry `field, value, document` for each field that its scope knows, also for a field without a value, so that
 * such documents can be listed. Exception: a field that is new in a large scope has no entries for older documents.
 */

/** UTF-16 units of a text that an entry holds; longer texts are truncated, so searches also check the document. */
const HELD_UNITS = 120;

/** Entries of one document: the value of each field, or null for a field without a value. */
export interface FieldEntries {
  readonly scope: string;
  readonly values: ReadonlyMap<string, Scalar>;
}

/** The name of a field in entries; undefined for `id`, which needs no entry. */
export const entryName = ({ key, system }: FilterField): string | undefined =>
  !system ? key : key === 'id' ? undefined : `$${key}`;

/** Undefined for a document outside of all scopes. */
export function fieldEntries(value: JsonObject, scopedBy: string): FieldEntries | undefined {
  const scope = value[scopedBy];
  if (typeof scope !== 'string') return undefined;
  const searched = searchedFields(value);
  const values = new Map<string, Scalar>();
  const keys = isDocument(searched.keys) ? searched.keys : {};
  // Fields of entities never begin with `$`.
  for (const name of SYSTEM_FIELDS) values.set(`$${name}`, scalarOf(searched[name]));
  for (const [key, each] of Object.entries(keys)) values.set(key, scalarOf(each));
  return { scope, values };
}

const scalarOf = (value: unknown): Scalar =>
  typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' ? value : null;

export const isCut = (value: Scalar): boolean => typeof value === 'string' && value.length > HELD_UNITS;

/** Minimum of UTF-16 units of a truncated text: one fewer when the end would split a surrogate pair. */
export const SHORTEST_CUT = HELD_UNITS - 1;

/** A value as entries hold it. */
export const heldValue = <V extends Scalar>(value: V): V | string =>
  typeof value === 'string' && value.length > HELD_UNITS ? beginning(value, HELD_UNITS) : value;

/** A text's beginning, without a split surrogate pair. */
export const beginning = (text: string, units: number): string =>
  text.slice(0, units).replace(/[\uD800-\uDBFF]$/, '');
