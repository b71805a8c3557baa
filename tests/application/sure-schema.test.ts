import { expect } from 'chai';
import fc from 'fast-check';
import { z } from 'zod';
import { sureOf } from '../../application/sure-schema.ts';
import { catalogue } from '../../domain/catalogue.ts';

const kinds = z.object({
  text: z.string(),
  number: z.number(),
  whole: z.int(),
  wholes: z.array(z.number().int()).optional(),
  flag: z.boolean().optional(),
  kind: z.enum(['a', 'b']),
  fixed: z.literal(['x', 1]).optional(),
  none: z.string().nullable().optional(),
  json: z.json(),
  members: z.record(z.string(), z.json()),
  either: z.union([z.string(), z.object({ n: z.number() })]).optional(),
  told: z
    .discriminatedUnion('k', [
      z.object({ k: z.literal('p'), n: z.number() }),
      z.strictObject({ k: z.literal('q') }),
    ])
    .optional(),
});

/** What the schema takes, now and then with a member that it does not, or with other JSON. */
const nearly = (): fc.Arbitrary<unknown> => {
  const json = fc.jsonValue();
  const of = (right: fc.Arbitrary<unknown>, ...wrong: unknown[]) =>
    fc.oneof(
      { weight: 40, arbitrary: right },
      { weight: 1, arbitrary: fc.oneof(json, fc.constantFrom(null, ...wrong)) },
    );
  const number = fc.double({ noNaN: true, noDefaultInfinity: true });
  const name = fc.oneof(
    { weight: 40, arbitrary: fc.string() },
    { weight: 1, arbitrary: fc.constant('__proto__') },
  );
  const usual = fc.record(
    {
      text: of(fc.string()),
      number: of(number, Number.POSITIVE_INFINITY),
      whole: of(fc.integer(), 2 ** 53, 0.5),
      wholes: of(fc.array(fc.integer()), [0.5]),
      flag: of(fc.boolean()),
      kind: of(fc.constantFrom('a', 'b'), 'toString'),
      fixed: of(fc.constantFrom('x', 1)),
      none: of(fc.constantFrom(null, 'none')),
      json,
      members: of(fc.dictionary(name, json)),
      either: of(fc.oneof(fc.string(), fc.record({ n: number }))),
      told: of(
        fc.oneof(fc.constant({ k: 'q' }), fc.record({ k: fc.constant('p'), n: fc.integer() })),
        { k: 'q', more: 1 },
        { k: 'p', n: 1, more: 1 },
      ),
    },
    { requiredKeys: ['text', 'number', 'whole', 'kind', 'json', 'members'] },
  );
  const more = usual.map((value) => ({ ...value, more: 1 }));
  return fc.oneof({ weight: 20, arbitrary: usual }, { weight: 1, arbitrary: more });
};

/** As it comes out of the log: numbers too big for JSON are none there. */
const parsed = (value: unknown): unknown =>
  JSON.parse(
    JSON.stringify(value, (_, each) => (each === Number.POSITIVE_INFINITY ? '∞' : each)),
    (_, each) => (each === '∞' ? Number.POSITIVE_INFINITY : each),
  );

describe('A union of objects', () => {
  const loose = z.object({ a: z.string() });
  const both = z.object({ a: z.string(), b: z.string() });
  for (const [name, schema] of [
    ['whose first takes what is the second’s', z.union([loose, both])],
    ['in lists', z.union([z.array(loose), z.array(both)])],
    [
      'with members that may be missing',
      z.union([z.object({ a: z.string(), b: z.string().optional() }), both]),
    ],
  ] as const) {
    it(`is left to the schema: one ${name}`, () => {
      const sure = sureOf(schema);
      for (const value of [{ a: '1', b: '2' }, { a: '1' }, [{ a: '1', b: '2' }]]) {
        if (sure?.(value) === true) expect(schema.parse(value)).to.deep.equal(value);
      }
      expect(sure?.({ a: '1', b: '2' }) ?? false).to.equal(false);
    });
  }

  it('is looked at where a discriminator tells them apart, or plain values come before', () => {
    const kinds = z.discriminatedUnion('kind', [
      z.object({ kind: z.literal('a'), a: z.string() }),
      z.object({ kind: z.literal('b'), a: z.string(), b: z.string() }),
    ]);
    expect(sureOf(kinds)?.({ kind: 'b', a: '1', b: '2' })).to.equal(true);
    expect(sureOf(kinds)?.({ kind: 'a', a: '1', b: '2' })).to.equal(false);
    expect(sureOf(z.union([z.string(), z.null(), loose]))?.({ a: '1' })).to.equal(true);
  });
});

describe('what is surely of a schema', () => {
  it('is accepted by the schema, and comes out of it as it is', () => {
    const sure = sureOf(kinds);
    let accepted = 0;
    fc.assert(
      fc.property(fc.oneof(nearly(), fc.jsonValue()), (made) => {
        const value = parsed(made);
        if (sure?.(value) !== true) return;
        accepted += 1;
        const { success, data } = kinds.safeParse(value);
        expect(success).to.equal(true);
        expect(data).to.deep.equal(value);
      }),
      { numRuns: 3000 },
    );
    expect(accepted).to.be.greaterThan(100);
  });

  it('is what an event of the usual form holds', () => {
    const updated = catalogue.find(({ type }) => type === 'RecordUpdated');
    const data = {
      record_id: 'r',
      entity_name: 'thing',
      values: { n: 1, text: 'x', list: [1, { deep: null }] },
      types: { n: 'integer', text: 'text', list: 'json' },
      changed: ['n'],
      version: 2,
      schema_revision: 1,
    };
    const sure = updated && sureOf(updated.schema);
    expect(updated?.schema.safeParse(data).success).to.equal(true);
    expect(sure?.(data)).to.equal(true);
    for (const [key, wrong] of Object.entries({ version: '2', values: [], types: { n: 'none' }, more: 1 })) {
      expect(sure?.({ ...data, [key]: wrong }), key).to.equal(false);
    }
    const { version: _left, ...less } = data;
    expect(sure?.(less)).to.equal(false);
  });

  it('is said of no schema that checks or changes more than types', () => {
    const others = {
      refined: z.string().refine((text) => text !== 'no'),
      short: z.string().max(3),
      pattern: z.string().regex(/^a/),
      uuid: z.uuid(),
      positive: z.number().positive(),
      few: z.array(z.string()).max(1),
      changed: z.string().transform((text) => `${text}!`),
      usual: z.string().default('x'),
      loose: z.looseObject({ a: z.string() }),
      keyed: z.record(z.enum(['a']), z.string()),
      all: z.intersection(z.object({ a: z.string() }), z.object({ b: z.string() })),
      one: z.xor([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      checked: z.object({ a: z.string() }).refine(({ a }) => a !== 'no'),
      within: z.object({ a: z.array(z.string().min(2)) }),
      firstUnknown: z.union([z.string().transform(Number), z.string()]),
    };
    for (const [name, schema] of Object.entries(others)) expect(sureOf(schema), name).to.equal(undefined);
  });
});
