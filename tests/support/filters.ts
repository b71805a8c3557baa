import fc from 'fast-check';
import type { JsonObject } from '../../application/ports/read-store.ts';
import type { FilteredRecord } from '../../domain/expressions/filter.ts';
import { orderKeys } from '../../domain/expressions/order-key.ts';
import { FIELD_TYPES, type FieldSpecs, type FieldType } from '../../domain/expressions/tree.ts';

/** Random schemas, records and filters over few values, so that equal and neighbouring values are common. */

const TEXTS = [
  ...['', 'a', 'A', 'b', 'ab', 'aé', 'ä', '😀', 'a😀', '\uFFFD', '\uE000', '\u{10FFFF}', '100', 'null', ' '],
  ...[
    'a\nb',
    'a\n',
    '\u0001',
    '\u007f',
    '\u2028',
    'a.b',
    '[x]',
    '^a$',
    '.*',
    '%',
    '_',
    '\\',
    '"',
    "'",
    '\\z',
    '(',
    'a|b',
  ],
  ...['a#b', 'a-b', '/', '{1}', '$where', '__proto__'],
  // Lengths around the greatest that an index over fields holds.
  ...[118, 119, 120, 121, 122].map((length) => 'z'.repeat(length)),
  ...[`${'z'.repeat(119)}😀`, `${'z'.repeat(120)}y`],
];
const DECIMALS = [
  ...['0', '-0', '0.00', '1', '1.0', '1.00', '-1', '-1.5', '-1.49', '9', '10', '0.1', '0.10', '0.09', '007'],
  ...['123456789012345678901234567890.123456789', '123456789012345678901234567890.1234567891'],
  ...['-123456789012345678901234567890.123456789', '-123456789012345678901234567890.1234567891'],
  ...[
    '0.00000000000000000001',
    '-0.00000000000000000001',
    '9007199254740993',
    '9007199254740992',
    '1e3',
    '1000',
  ],
];
const INTEGERS = [0, 1, -1, 2, 9, 10, 100, -100, 2 ** 31, -(2 ** 31) - 1, 2 ** 53 - 1, -(2 ** 53) + 1];
const DATES = ['0001-01-01', '1999-12-31', '2024-02-29', '2026-01-01', '2026-01-02', '9999-12-31'];
export const NOW = Date.parse('2026-03-01T12:00:00.000Z');
const INSTANTS = [
  ...[
    '2026-01-01T00:00:00Z',
    '2026-01-01T00:00:00.000Z',
    '2026-01-01T01:00:00.000+01:00',
    '2026-03-01T12:00:00Z',
  ],
  ...[
    '2026-03-01T12:00:00.001Z',
    '2026-01-01T00:00:00.0009Z',
    '1969-12-31T23:59:59.999Z',
    '0001-01-01T00:00:00Z',
  ],
];
const OPTIONS = ['open', 'done', 'Ärger', 'a "b"'];
const STATES = ['draft', 'approved', 'a'];

const text = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...TEXTS) },
  fc.string({ unit: 'grapheme', maxLength: 4 }).filter((each) => !each.includes('\0')),
);
const decimal = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...DECIMALS) },
  fc
    .tuple(fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n }), fc.stringMatching(/^\d{0,30}$/))
    .map(([whole, fraction]) => (fraction === '' ? `${whole}` : `${whole}.${fraction}`)),
);
const integer = fc.oneof(fc.constantFrom(...INTEGERS), fc.maxSafeInteger());

const VALUES: Readonly<Record<FieldType, fc.Arbitrary<unknown>>> = {
  text,
  long_text: text,
  reference: text,
  user: text,
  enum: fc.constantFrom(...OPTIONS),
  integer,
  decimal,
  boolean: fc.boolean(),
  date: fc.constantFrom(...DATES),
  datetime: fc.constantFrom(...INSTANTS),
  json: fc.constantFrom<unknown>({ a: 1 }, [], [1, null], 'text', 0, false),
};

/** Includes names of inherited members of a JavaScript object. */
const NAMES = [
  'amount',
  'title',
  'constructor',
  '__proto__',
  '_bsontype',
  'toString',
  'a_1',
  'B',
  'has',
  'now',
  'keys',
];

export const schema: fc.Arbitrary<FieldSpecs> = fc
  .array(fc.constantFrom(...FIELD_TYPES), {
    minLength: 3,
    maxLength: NAMES.length,
  })
  .map((types) =>
    Object.fromEntries(
      types.map((type, nth) => [NAMES[nth] ?? '', type === 'enum' ? { type, options: OPTIONS } : { type }]),
    ),
  );

export const recordOf = (fields: FieldSpecs): fc.Arbitrary<Omit<FilteredRecord, 'id'>> =>
  fc
    .tuple(
      fc.tuple(
        ...Object.entries(fields).map(([name, { type }]) =>
          fc
            .oneof(
              { weight: 2, arbitrary: fc.constantFrom(undefined, null) },
              { weight: 5, arbitrary: VALUES[type] },
            )
            .map((value) => [name, value] as const),
        ),
      ),
      fc.constantFrom(null, ...STATES),
      fc.constantFrom(...INSTANTS),
      fc.constantFrom(...INSTANTS),
    )
    .map(([values, state, created, updated]) => ({
      state,
      created_at: iso(created),
      updated_at: iso(updated),
      values: Object.fromEntries(values.filter(([, value]) => value !== undefined)),
    }));

const iso = (instant: string): string => new Date(instant).toISOString();

/** The document that a projection makes of a record. */
export function documentOf(record: FilteredRecord, fields: FieldSpecs, entity = 'order'): JsonObject {
  const types = Object.fromEntries(Object.entries(fields).map(([key, { type }]) => [key, type]));
  const document = { ...record, entity_name: entity, keys: orderKeys(types, record.values) };
  return JSON.parse(JSON.stringify(document));
}

/** A filter in both forms; the object form cannot express every text. */
export interface Written {
  readonly text: string;
  readonly object: unknown;
}

type Literal = Written;
const none: Literal = { text: 'null', object: null };

function literal(type: FieldType): fc.Arbitrary<Literal> {
  const plain = (value: unknown): Literal => ({ text: JSON.stringify(value), object: value });
  switch (type) {
    case 'decimal':
      return decimal.chain((value) =>
        fc.boolean().map((quoted) => ({ text: quoted ? JSON.stringify(value) : value, object: value })),
      );
    case 'datetime':
      return fc.oneof(
        {
          weight: 6,
          arbitrary: VALUES.datetime.map((value) => ({ text: `timestamp("${value}")`, object: value })),
        },
        fc.constant({ text: 'now()', object: undefined }),
      );
    case 'json':
      return fc.constant(none);
    default:
      return VALUES[type].map(plain);
  }
}

const ORDERED: readonly FieldType[] = [
  'text',
  'long_text',
  'reference',
  'user',
  'integer',
  'decimal',
  'date',
  'datetime',
];
const SEARCHED: readonly FieldType[] = ['text', 'long_text', 'reference', 'user'];
const OPERATORS = { '==': '$eq', '!=': '$ne', '<': '$lt', '<=': '$lte', '>': '$gt', '>=': '$gte' } as const;
const FLIPPED = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const;
const EQUALITIES = ['==', '!='] as const;

function leaf(field: string, type: FieldType): fc.Arbitrary<Written> {
  const either = fc.oneof({ weight: 6, arbitrary: literal(type) }, fc.constant(none));
  const compare = fc
    .tuple(
      ORDERED.includes(type)
        ? fc.constantFrom('==', '!=', '<', '<=', '>', '>=')
        : fc.constantFrom(...EQUALITIES),
      either,
      fc.boolean(),
    )
    .map(
      ([operator, { text, object }, flipped]): Written => ({
        text: flipped ? `${text} ${FLIPPED[operator]} ${field}` : `${field}${operator}${text}`,
        object:
          object === undefined
            ? undefined
            : { [field]: operator === '==' && flipped ? object : { [OPERATORS[operator]]: object } },
      }),
    );
  const among = fc.tuple(fc.array(either, { maxLength: 4 }), fc.boolean()).map(([list, negated]): Written => {
    const inside = `${field} in [${list.map((each) => each.text).join(', ')}]`;
    return {
      text: negated ? `!(${inside})` : inside,
      object: list.some((each) => each.object === undefined)
        ? undefined
        : { [field]: { [negated ? '$nin' : '$in']: list.map((each) => each.object) } },
    };
  });
  const has = fc.boolean().map(
    (there): Written => ({
      text: there ? `has(${field})` : `!has(${field})`,
      object: { [field]: { $exists: there } },
    }),
  );
  const choices = [
    { weight: 4, arbitrary: compare },
    { weight: 2, arbitrary: among },
    { weight: 1, arbitrary: has },
  ];
  if (SEARCHED.includes(type)) {
    const within = fc
      .tuple(fc.constantFrom('contains', 'startsWith', 'endsWith'), text)
      .map(
        ([name, part]): Written => ({ text: `${field}.${name}(${JSON.stringify(part)})`, object: undefined }),
      );
    choices.push({ weight: 3, arbitrary: within });
  }
  if (type === 'boolean')
    choices.push({ weight: 2, arbitrary: fc.constant({ text: field, object: { [field]: true } }) });
  return fc.oneof(...choices);
}

export function filterOf(fields: FieldSpecs): fc.Arbitrary<Written> {
  const own = Object.entries(fields).map(([name, { type }]) => leaf(name, type));
  const system = [leaf('id', 'text'), leaf('state', 'text'), leaf('created_at', 'datetime')];
  const leaves = fc.oneof(...own, ...own, ...system);
  return fc.letrec<{ filter: Written; joined: Written; negated: Written }>((tie) => ({
    filter: fc.oneof({ maxDepth: 3, depthSize: 'small' }, leaves, tie('joined'), tie('negated')),
    joined: fc
      .tuple(fc.boolean(), fc.array(tie('filter'), { minLength: 2, maxLength: 3 }))
      .map(([and, parts]) => ({
        text: parts.map(({ text: part }) => `(${part})`).join(and ? ' && ' : '||'),
        object: parts.some((part) => part.object === undefined)
          ? undefined
          : { [and ? '$and' : '$or']: parts.map((part) => part.object) },
      })),
    negated: tie('filter').map((part) => ({
      text: `!(${part.text})`,
      object: part.object === undefined ? undefined : { $not: part.object },
    })),
  })).filter;
}
