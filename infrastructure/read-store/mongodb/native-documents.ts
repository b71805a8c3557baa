import type { JsonObject, JsonValue } from '../../../application/ports/read-store.ts';
import { parseDocument } from '../stored-values.ts';

/**
 * The stored form of a document (decision 34): a BSON document with the same fields. A document that BSON or the server
 * cannot hold exactly is stored as its JSON text, as are all documents of format 1.
 */

/** MongoDB limits a row to 100 levels, including arrays. */
const MAX_DEPTH = 80;
/** BSON adds about 12 bytes per value; with this limit a document of 14 MB of JSON stays under 16 MiB. */
const MAX_VALUES = 100_000;

type StoredValue = string | number | boolean | null | StoredValue[] | StoredFields;
export type StoredFields = { [field: string]: StoredValue };

/** @param nestedArrays whether the server supports nested arrays (FerretDB 1.x does not) */
export function storedForm(value: JsonObject, nestedArrays: boolean): StoredFields | string {
  const budget = { values: MAX_VALUES, nestedArrays };
  return storedFields(value, budget, MAX_DEPTH) ?? JSON.stringify(value);
}

/** The inverse of {@link storedForm}. @throws {TypeError} when the value is not a document */
export function documentIn(stored: unknown): JsonObject {
  if (typeof stored === 'string') return parseDocument(stored);
  if (!isFields(stored)) throw new TypeError('a stored document has no fields');
  return objectOf(stored);
}

/** Characters that {@link fieldOf} encodes: a leading `$`, dots, `%` and NUL. */
const UNSAFE = /^\$|[.%\0]/g;

/**
 * Names that every plain object inherits, which confuse the driver's lookups by name, and `_bsontype`, by which the
 * driver recognises its types.
 */
const RESERVED: ReadonlySet<string> = new Set([...Object.getOwnPropertyNames(Object.prototype), '_bsontype']);

/**
 * The field name of a document's member: a leading `$`, dots, NUL, `%` and the first character of a reserved name are
 * percent-encoded. The empty name is `%`.
 */
export function fieldOf(name: string): string {
  if (name === '') return '%';
  if (RESERVED.has(name)) return encoded(name.slice(0, 1)) + name.slice(1);
  return name.replace(UNSAFE, encoded);
}

const encoded = (char: string): string =>
  `%${char.charCodeAt(0).toString(16).toUpperCase().padStart(2, '0')}`;

/** The inverse of {@link fieldOf}. */
export function nameOf(field: string): string {
  if (!field.includes('%')) return field;
  return field === '%'
    ? ''
    : field.replace(/%([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)));
}

interface Budget {
  values: number;
  readonly nestedArrays: boolean;
}

/** Undefined when the value cannot be stored as fields. */
function storedFields(value: JsonObject, budget: Budget, levels: number): StoredFields | undefined {
  if (levels === 0) return undefined;
  const fields: StoredFields = {};
  for (const name of Object.keys(value)) {
    const each = value[name];
    if (each === undefined) continue;
    const stored = storedValue(each, budget, levels - 1);
    if (stored === undefined || !name.isWellFormed()) return undefined;
    fields[fieldOf(name)] = stored;
  }
  return fields;
}

function storedValue(value: JsonValue, budget: Budget, levels: number): StoredValue | undefined {
  budget.values -= 1;
  if (budget.values < 0) return undefined;
  if (typeof value === 'string') return value.isWellFormed() ? value : undefined;
  // As in JSON: NaN and infinities become null, and -0 becomes 0.
  if (typeof value === 'number') return Number.isFinite(value) ? value + 0 : null;
  if (value === null || typeof value === 'boolean') return value;
  return isList(value) ? storedList(value, budget, levels) : storedFields(value, budget, levels);
}

function storedList(value: readonly JsonValue[], budget: Budget, levels: number): StoredValue[] | undefined {
  if (levels === 0) return undefined;
  const list: StoredValue[] = [];
  for (const each of value) {
    if (isList(each) && !budget.nestedArrays) return undefined;
    const stored = storedValue(each ?? null, budget, levels - 1);
    if (stored === undefined) return undefined;
    list.push(stored);
  }
  return list;
}

function objectOf(fields: Readonly<Record<string, unknown>>): JsonObject {
  // Assignments would set the prototype instead of a member `__proto__`.
  return Object.fromEntries(Object.entries(fields).map(([field, each]) => [nameOf(field), jsonOf(each)]));
}

function jsonOf(stored: unknown): JsonValue {
  if (
    stored === null ||
    typeof stored === 'string' ||
    typeof stored === 'number' ||
    typeof stored === 'boolean'
  ) {
    return stored;
  }
  if (Array.isArray(stored)) return stored.map(jsonOf);
  if (isFields(stored)) return objectOf(stored);
  throw new TypeError('a stored document holds what is no JSON');
}

const isList = (value: JsonValue): value is readonly JsonValue[] => Array.isArray(value);

/** Whether the value is a plain object and not one of BSON's types, which other programs may have written. */
function isFields(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;
}
