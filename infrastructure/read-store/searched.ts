import type { Cursor, JsonObject, JsonValue, Selection } from '../../application/ports/read-store.ts';
import { InvalidCursor } from '../../application/ports/searches.ts';
import type { Scalar } from '../../domain/core/projection.ts';
import type { FilterField, SortField } from '../../domain/expressions/filter-tree.ts';
import { FIELD_KEY } from '../../domain/expressions/tree.ts';
import { checkSingle, type IndexPlan, planNamed } from './index-keys.ts';
import { isDocument } from './stored-values.ts';

/** Builds and checks the parts of searches that both adapters share. */

/** The index to search. @throws when the collection is not searchable, or the index cannot be searched */
export function searchedIndex(
  { indexes, searchable }: { readonly indexes: readonly IndexPlan[]; readonly searchable?: boolean },
  query: Selection,
): { readonly plan: IndexPlan; readonly at: number } {
  if (searchable !== true) throw new Error(`collection ${query.collection} is not searchable`);
  const found = planNamed(indexes, query);
  checkSingle(found.plan);
  return found;
}

/** The key of a field as part of a database path. @throws {TypeError} for a key that a path could misread */
export function pathKey({ key }: Pick<FilterField, 'key'>): string {
  if (!FIELD_KEY.test(key)) throw new TypeError(`${JSON.stringify(key)} is no key of a field`);
  return key;
}

/**
 * A field's value in a document or in its searched fields, as searches compare it.
 * @throws {TypeError} for a key that a database could misread
 */
export function scalarIn(
  value: JsonObject,
  id: string,
  { key, system }: FilterField,
): NonNullable<Scalar> | undefined {
  pathKey({ key });
  if (system && key === 'id') return id;
  const found = system ? value : value.keys;
  const scalar = isDocument(found) && Object.hasOwn(found, key) ? found[key] : undefined;
  return typeof scalar === 'object' ? undefined : scalar;
}

/**
 * The value and id at which the previous page of a sorted search ended. @throws {InvalidCursor} for a cursor of
 * another order
 */
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
 * The fields that searches of a document read: `keys` and the system fields, without nulls.
 * @param nameOfKey the key's name in the database
 * @throws {TypeError} for a key that a path could misread, or a value that is not a scalar
 */
export function searchedFields(
  value: JsonObject,
  nameOfKey: (key: string) => string = (key) => key,
): JsonObject {
  const own = isDocument(value.keys) ? Object.entries(value.keys) : [];
  const keys = present(own.map(([key, each]) => [nameOfKey(pathKey({ key })), each]));
  return { ...present(SYSTEM_FIELDS.map((name) => [name, value[name]])), keys };
}

/** System fields of filters, besides `id`. */
export const SYSTEM_FIELDS = ['state', 'created_at', 'updated_at'] as const;

/** Also holds a field `__proto__`, which an assignment would make the prototype. */
const present = (fields: readonly (readonly [name: string, value: JsonValue | undefined])[]): JsonObject =>
  Object.fromEntries(
    fields.filter(([name, value]) => {
      if (typeof value === 'object' && value !== null)
        throw new TypeError(`${name} is no scalar and cannot be searched`);
      return value !== null && value !== undefined;
    }),
  );
