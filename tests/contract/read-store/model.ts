import fc from 'fast-check';
import type { FindQuery, IndexSpec, JsonObject, JsonValue } from '../../../application/ports/read-store.ts';
import type { Scalar } from '../../../domain/core/projection.ts';
import { parseDocument } from '../../../infrastructure/read-store/stored-values.ts';

/** The port's index semantics on plain arrays. */
export interface ModelRow {
  readonly values: readonly Scalar[];
  readonly id: string;
}

export function modelRows(
  documents: ReadonlyMap<string, JsonObject>,
  index: IndexSpec,
  query: FindQuery,
): ModelRow[] {
  const rows = [...documents].flatMap(([id, value]) =>
    entries(value, index).map((values) => ({ values, id })),
  );
  const equals = query.equals ?? [];
  const chosen = rows.filter(({ values }) => {
    if (!equals.every((wanted, nth) => compare(values[nth] ?? null, wanted) === 0)) return false;
    const next = values[equals.length] ?? null;
    const { gt, gte, lt, lte } = query.range ?? {};
    if (gt !== undefined && compare(next, gt) <= 0) return false;
    if (gte !== undefined && compare(next, gte) < 0) return false;
    if (lt !== undefined && compare(next, lt) >= 0) return false;
    return lte === undefined || compare(next, lte) <= 0;
  });
  chosen.sort(compareRows);
  return query.order === 'desc' ? chosen.reverse() : chosen;
}

function entries(value: JsonObject, index: IndexSpec): Scalar[][] {
  let rows: Scalar[][] = [[]];
  for (const field of index.fields) {
    const found = valuesAt(value, field.split('.'));
    rows = rows.flatMap((row) => found.map((each) => [...row, each]));
  }
  const nth = index.present === undefined ? -1 : index.fields.indexOf(index.present);
  if (nth >= 0) rows = rows.filter((row) => row[nth] !== null);
  const distinct = new Map(rows.map((row) => [JSON.stringify(row), row]));
  return [...distinct.values()];
}

function valuesAt(value: JsonValue | undefined, path: readonly string[]): Scalar[] {
  if (Array.isArray(value)) return value.flatMap((each: JsonValue) => valuesAt(each, path));
  const [part, ...rest] = path;
  const isObject = typeof value === 'object' && value !== null;
  if (part === undefined) return [value === undefined || isObject ? null : value];
  return valuesAt(
    isObject && part in value ? Object.entries(value).find(([key]) => key === part)?.[1] : undefined,
    rest,
  );
}

const rank = (value: Scalar): number =>
  value === null ? 0 : { boolean: 1, number: 2, string: 3 }[kind(value)];

function kind(value: string | number | boolean): 'boolean' | 'number' | 'string' {
  if (typeof value === 'string') return 'string';
  return typeof value === 'number' ? 'number' : 'boolean';
}

function compare(a: Scalar, b: Scalar): number {
  if (rank(a) !== rank(b)) return rank(a) - rank(b);
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return a === b ? 0 : Number(a) < Number(b) ? -1 : 1;
}

function compareRows(a: ModelRow, b: ModelRow): number {
  for (const [nth, value] of a.values.entries()) {
    const order = compare(value, b.values[nth] ?? null);
    if (order !== 0) return order;
  }
  return compare(a.id, b.id);
}

/** Few distinct values, with edge cases, so that ties and common prefixes are frequent. */
export const scalar: fc.Arbitrary<Scalar> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom<Scalar>(null, true, 1, 'a', 'a\u0001') },
  fc.constantFrom<Scalar>(null, false, true),
  fc.constantFrom(0, 1, -1, 2, 10, -10, 0.5, -0.5, 1e308, -1e308, 5e-324, Number.MAX_SAFE_INTEGER),
  fc.constantFrom('', 'a', 'aa', 'ab', 'b', 'B', 'ä', '\uFFFD', '\uE000', '😀', '9', '10', 'true', 'null'),
  fc.constantFrom('\u0001', '\u0002', 'a\u0001', 'a\u0001b', 'a\u0002', 'a\u0003', '\u0002\u0003', 'a\u007f'),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.string({ unit: 'grapheme', maxLength: 5 }),
);

export const INDEXES: readonly IndexSpec[] = [
  { name: 'by_a_b', fields: ['a', 'in.b'] },
  { name: 'by_a_of_b', fields: ['a', 'in.b'], present: 'in.b' },
  { name: 'by_person', fields: ['people.id', 'a'], multi: 'people.id' },
  { name: 'by_a_tag_b', fields: ['a', 'tags', 'in.b'], multi: 'tags' },
];

/** Fields are sometimes absent, `in` is sometimes no object, and arrays are empty, repetitive or no arrays. */
export const document: fc.Arbitrary<JsonObject> = fc
  .record(
    {
      a: scalar,
      in: fc.oneof({ weight: 4, arbitrary: fc.record({ b: scalar }) }, { weight: 1, arbitrary: scalar }),
      people: fc.array(fc.record({ id: scalar }, { requiredKeys: [] }), { maxLength: 4 }),
      tags: fc.oneof(
        { weight: 3, arbitrary: fc.array(scalar, { maxLength: 4 }) },
        { weight: 1, arbitrary: scalar },
      ),
    },
    { requiredKeys: [] },
  )
  // As the store returns it: absent equals undefined, and JSON has no negative zero.
  .map((value) => parseDocument(JSON.stringify(value)));

export interface Step {
  readonly id: string;
  readonly value: JsonObject | null;
}

export const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.record({
    id: fc.constantFrom('a', 'b', 'B', 'ab', 'a-b', 'ä', 'z9', '0', '~', '\u{1F600}', '\uFFFD'),
    value: fc.oneof({ weight: 6, arbitrary: document }, { weight: 1, arbitrary: fc.constant(null) }),
  }),
  { maxLength: 30 },
);
