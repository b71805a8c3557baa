import {
  type Cursor,
  InvalidCursor,
  type JsonObject,
  type JsonValue,
  type Scalar,
  type Selection,
} from '../../application/ports/read-store.ts';
import type { FilterField, SortField } from '../../domain/expressions/filter-tree.ts';
import { FIELD_KEY } from '../../domain/expressions/tree.ts';
import { checkSingle, type IndexPlan, planNamed } from './index-keys.ts';

/** What both adapters make and check for searches. */

/** The index whose range is searched. @throws where the collection or the index was not made for it */
export function searchedIndex(
  { indexes, searchable }: { readonly indexes: readonly IndexPlan[]; readonly searchable?: boolean },
  query: Selection,
): { readonly plan: IndexPlan; readonly at: number } {
  if (searchable !== true) throw new Error(`collection ${query.collection} is not searchable`);
  const found = planNamed(indexes, query);
  checkSingle(found.plan);
  return found;
}

/** The key of a field as part of a path of the database. @throws {TypeError} for one that could be read otherwise */
export function pathKey({ key }: Pick<FilterField, 'key'>): string {
  if (!FIELD_KEY.test(key)) throw new TypeError(`${JSON.stringify(key)} is no key of a field`);
  return key;
}

/** Where a sorted page ended. @throws {InvalidCursor} when it is no cursor of this order */
export function sortedAfter(
  after: Cursor | undefined,
  { field }: SortField,
): { readonly value: Scalar; readonly id: string } | undefined {
  if (after === undefined) return undefined;
  const [value] = after.values;
  const wanted = field.type === 'integer' ? 'number' : field.type === 'boolean' ? 'boolean' : 'string';
  const fits = after.values.length === 1 && (value === null || typeof value === wanted);
  if (value === undefined || !fits) throw new InvalidCursor('the cursor does not fit the order');
  return { value, id: after.id };
}

/**
 * What a searchable document is found by, stored beside it as fields that the database sees: `keys` and those that
 * filters know by themselves, without nulls.
 * @throws {TypeError} for a key that a path could not name, or a value that is no scalar
 */
export function searchedFields(value: JsonObject): JsonObject {
  const found: Record<string, JsonValue> = {};
  for (const name of OWN) addPresent(found, name, value[name]);
  const own = value.keys;
  const keys: Record<string, JsonValue> = {};
  if (isObject(own)) for (const key of Object.keys(own)) addPresent(keys, pathKey({ key }), own[key]);
  found.keys = keys;
  return found;
}

/** What filters know by themselves. */
const OWN = ['state', 'created_at', 'updated_at'] as const;

const isObject = (value: JsonValue | undefined): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function addPresent(found: Record<string, JsonValue>, name: string, value: JsonValue | undefined): void {
  if (value === null || value === undefined) return;
  if (typeof value === 'object') throw new TypeError(`${name} is no scalar and cannot be searched`);
  // A field may be called as what objects inherit: assigned to, that would be no field.
  if (name === '__proto__') Object.defineProperty(found, name, { value, enumerable: true });
  else found[name] = value;
}
