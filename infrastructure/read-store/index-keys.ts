import type {
  Cursor,
  EntriesQuery,
  IndexSpec,
  JsonObject,
  JsonValue,
} from '../../application/ports/read-store.ts';
import { InvalidCursor } from '../../application/ports/searches.ts';
import type { Scalar } from '../../domain/core/projection.ts';
import { compareText } from '../../domain/expressions/compare.ts';
import { AFTER_ALL, AFTER_END, decode, END, encode } from './scalar-encoding.ts';

/**
 * Encodes index keys as texts whose byte order is the port's order, so that a keyset query is one range over one
 * text. A key is `field ‖ END ‖ field ‖ END ‖ … ‖ document id`.
 */

/** A parsed index. `splitAt` is the number of fields up to and including the array field. */
export interface IndexPlan {
  readonly name: string;
  readonly paths: readonly (readonly string[])[];
  readonly multi: number | undefined;
  readonly splitAt: number;
  /** Index in `paths` of the field that must have a value. */
  readonly present: number | undefined;
}

/** A document's keys are each of `heads` followed by `tail`; a single-valued index has one head. */
export interface Entries {
  readonly heads: readonly string[];
  readonly tail: string;
}

export function planIndex(spec: IndexSpec): IndexPlan {
  if (spec.fields.length === 0) throw new TypeError(`index ${spec.name} has no fields`);
  const at = spec.multi === undefined ? -1 : spec.fields.indexOf(spec.multi);
  if (spec.multi !== undefined && at < 0) {
    throw new TypeError(`index ${spec.name}: multi ${spec.multi} is none of its fields`);
  }
  const present = spec.present === undefined ? -1 : spec.fields.indexOf(spec.present);
  if (spec.present !== undefined && (present < 0 || at >= 0)) {
    throw new TypeError(`index ${spec.name}: present ${spec.present} is none of its fields, or one is multi`);
  }
  return {
    name: spec.name,
    paths: spec.fields.map((field) => field.split('.')),
    multi: at < 0 ? undefined : at,
    splitAt: at < 0 ? spec.fields.length : at + 1,
    present: present < 0 ? undefined : present,
  };
}

/**
 * The key of a document in a single-valued index; null when the index skips it. Separate from {@link entriesOf}, since
 * this is the hot path.
 * @throws {TypeError} when a path contains an array, which the index must declare as `multi`
 */
export function singleKey(plan: IndexPlan, value: JsonObject, id: string): string | null {
  let key = '';
  for (const [at, path] of plan.paths.entries()) {
    const scalar = scalarAt(plan, value, path);
    if (scalar === null && at === plan.present) return null;
    key += encode(scalar) + END;
  }
  return key + id;
}

export function entriesOf(plan: IndexPlan, value: JsonObject, id: string): Entries {
  const fields = plan.paths.map((path, at) =>
    at === plan.multi
      ? elementsAt(value, path, 0).map((each) => encode(each) + END)
      : [encode(scalarAt(plan, value, path)) + END],
  );
  let heads = [''];
  for (const variants of fields.slice(0, plan.splitAt)) {
    heads = heads.flatMap((head) => variants.map((variant) => head + variant));
  }
  const tail = fields.slice(plan.splitAt).flat().join('') + id;
  return { heads: [...new Set(heads)], tail };
}

/**
 * Whether a change keeps a document's keys, without building them.
 * @throws {TypeError} as {@link singleKey}
 */
export function sameKeys(plan: IndexPlan, before: JsonObject, after: JsonObject): boolean {
  return plan.paths.every((path, at) =>
    at === plan.multi
      ? sameElements(elementsAt(before, path, 0), elementsAt(after, path, 0))
      : scalarAt(plan, before, path) === scalarAt(plan, after, path),
  );
}

const sameElements = (before: readonly Scalar[], after: readonly Scalar[]): boolean =>
  before.length === after.length && before.every((each, at) => each === after[at]);

/** The open interval of keys that a query selects; a cursor narrows it. */
export interface KeyRange {
  readonly low: string;
  readonly high: string;
  readonly descending: boolean;
}

export function rangeOf(plan: IndexPlan, query: EntriesQuery): KeyRange {
  const equals = query.equals ?? [];
  if (!Number.isInteger(query.limit) || query.limit < 1)
    throw new RangeError('limit must be a positive integer');
  if (equals.length > plan.paths.length) throw new TypeError(`index ${plan.name}: too many values in equals`);
  const prefix = encodeAll(equals);
  let low = prefix;
  let high = prefix === '' ? AFTER_ALL : after(prefix);
  const range = query.range ?? {};
  if (Object.values(range).some((bound) => bound !== undefined) && equals.length === plan.paths.length) {
    throw new TypeError(`index ${plan.name}: no field is left for range`);
  }
  if (range.gte !== undefined) low = later(low, prefix + encode(range.gte) + END);
  if (range.gt !== undefined) low = later(low, after(prefix + encode(range.gt) + END));
  if (range.lt !== undefined) high = earlier(high, prefix + encode(range.lt) + END);
  if (range.lte !== undefined) high = earlier(high, after(prefix + encode(range.lte) + END));
  const descending = query.order === 'desc';
  if (query.after !== undefined) {
    const key = prefix + encodeCursor(plan, query.after, equals.length);
    if (descending) high = earlier(high, key);
    else low = later(low, key);
  }
  return { low, high, descending };
}

/** The cursor after a row: the index values that follow `equals`, and the document's id. */
export function cursorOf(plan: IndexPlan, key: string, equals: number): Cursor {
  const values: Scalar[] = [];
  let from = 0;
  for (let at = 0; at < plan.paths.length; at += 1) {
    const end = key.indexOf(END, from);
    if (end < 0) throw new Error(`malformed key in index ${plan.name}`);
    if (at >= equals) values.push(decode(key.slice(from, end)));
    from = end + 1;
  }
  return { values, id: key.slice(from) };
}

/** An index by name, with its number. @throws for an unknown index */
export function planNamed(
  indexes: readonly IndexPlan[],
  { collection, index }: Pick<EntriesQuery, 'collection' | 'index'>,
): { readonly plan: IndexPlan; readonly at: number } {
  const at = indexes.findIndex(({ name }) => name === index);
  const plan = indexes[at];
  if (plan === undefined) throw new Error(`collection ${collection} has no index ${index}`);
  return { plan, at };
}

/** @throws {TypeError} for an index with several entries per document */
export function checkSingle({ name, multi }: IndexPlan): void {
  if (multi !== undefined) throw new TypeError(`index ${name} has several entries for a document`);
}

export function encodeAll(values: readonly Scalar[]): string {
  return values.map((value) => encode(value) + END).join('');
}

/** Splits an index key after its first `fields` fields. */
export function splitKey(key: string, fields: number): [head: string, tail: string] {
  let from = 0;
  for (let at = 0; at < fields; at += 1) {
    const end = key.indexOf(END, from);
    if (end < 0) return [key, ''];
    from = end + 1;
  }
  return [key.slice(0, from), key.slice(from)];
}

function encodeCursor(plan: IndexPlan, cursor: Cursor, equals: number): string {
  if (cursor.values.length !== plan.paths.length - equals) {
    throw new InvalidCursor(`index ${plan.name}: the cursor does not fit the query`);
  }
  return encodeAll(cursor.values) + cursor.id;
}

const after = (text: string): string => text.slice(0, -1) + AFTER_END;
const later = (a: string, b: string): string => (compareText(a, b) < 0 ? b : a);
const earlier = (a: string, b: string): string => (later(a, b) === a ? b : a);

function scalarAt(plan: IndexPlan, value: JsonObject, path: readonly string[]): Scalar {
  let at: JsonValue | undefined = value;
  for (const part of path) {
    if (isArray(at)) throw undeclared(plan, path);
    at = isObject(at) ? at[part] : undefined;
  }
  if (isArray(at)) throw undeclared(plan, path);
  return toScalar(at);
}

function elementsAt(value: JsonValue | undefined, path: readonly string[], depth: number): Scalar[] {
  if (isArray(value)) return value.flatMap((each) => elementsAt(each, path, depth));
  const part = path[depth];
  if (part === undefined) return [toScalar(value)];
  return elementsAt(isObject(value) ? value[part] : undefined, path, depth + 1);
}

const undeclared = (plan: IndexPlan, path: readonly string[]): TypeError =>
  new TypeError(
    `index ${plan.name}: ${path.join('.')} meets an array; declare it as the index's multi field`,
  );

/** Objects cannot be ordered; they count as null, like missing values. */
function toScalar(value: JsonValue | undefined): Scalar {
  return value === undefined || typeof value === 'object' ? null : value;
}

function isArray(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
