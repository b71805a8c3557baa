import { expect } from 'chai';
import fc from 'fast-check';
import { canonicalJson, isSameJson } from '../../../domain/core/canonical-json.ts';
import type { Field, Values } from '../../../domain/entities/fields.ts';
import { resolve } from '../../../domain/entities/record-values.ts';
import {
  PROPOSAL_MS,
  proposeChange,
  type SchemaEvent,
  type SchemaState,
  schemaStream,
  settleChange,
} from '../../../domain/entities/schema.ts';
import { brokenBy, tightenings } from '../../../domain/entities/tightenings.ts';
import { isDecimal, jsonProblem } from '../../../domain/entities/values.ts';
import { BEGINNING, given } from '../../support/given.ts';

const field = (key: string, more: Partial<Field> = {}): Field => ({
  key,
  label: key,
  type: 'integer',
  required: false,
  ...more,
});
const base = { entity_name: 'thing', label: 'Thing', workflow: null };
const defined = (...fields: Field[]): SchemaEvent => ({ type: 'EntityDefined', data: { ...base, fields } });
const proposed = (...fields: Field[]): SchemaEvent => ({
  type: 'EntityChangeProposed',
  data: { ...base, fields, change_id: 'c' },
});

describe('A change of a schema', () => {
  const propose =
    (change: object, now = BEGINNING + 2000) =>
    (state: SchemaState) =>
      proposeChange(state, { changeId: 'c', ...change }, now);

  it('is applied at once when it adds no rule for records', () => {
    const fields = [field('a', { max: 5 }), field('b', { required: true, default: 1 })];
    given(schemaStream, defined(field('a', { max: 4 })))
      .when(propose({ fields }))
      .gives({ type: 'EntityChanged', data: { ...base, fields, workflow_attached: false } });
    given(schemaStream, defined())
      .when(propose({ workflow: 'flow' }))
      .gives({
        type: 'EntityChanged',
        data: { ...base, fields: [], workflow: 'flow', workflow_attached: true },
      });
  });

  it('is proposed when it adds a rule', () => {
    given(schemaStream, defined(field('a')))
      .when(propose({ fields: [] }))
      .gives(proposed());
  });

  it('to equal values gives no events', () => {
    given(schemaStream, defined(field('a')))
      .when(propose({ fields: [field('a')], label: 'Thing' }))
      .givesNothing();
  });

  it('is refused while another change is proposed, until that proposal expires', () => {
    const story = given(schemaStream, defined(field('a')), proposed());
    story.when(propose({ label: 'x' })).isRefused('conflict');
    const late = story.when(propose({ label: 'x' }, BEGINNING + 2000 + PROPOSAL_MS)).events();
    expect(late.map(({ type }) => type)).to.deep.equal(['EntityChangeAbandoned', 'EntityChanged']);
    given(schemaStream)
      .when(propose({ label: 'x' }))
      .isRefused('not_found');
  });

  it('is settled once, by its proposer', () => {
    const story = given(schemaStream, defined(field('a')), proposed());
    expect(story.when((state) => settleChange(state, 'c', false)).events()).to.deep.equal([
      { type: 'EntityChanged', data: { ...base, fields: [], workflow_attached: false } },
    ]);
    story.when((state) => settleChange(state, 'other', false)).isRefused('conflict');
    story.when((state) => settleChange(state, 'other', true)).givesNothing();
    story.when((state) => settleChange(state, 'c', true)).thenAgainNothing();
  });
});

const key = fc.constantFrom('a', 'b', 'c');
const bound = fc.option(fc.integer({ min: -3, max: 3 }), { nil: undefined });
const anyField = fc
  .record({
    key,
    type: fc.constantFrom('integer' as const, 'text' as const, 'enum' as const, 'boolean' as const),
    required: fc.boolean(),
    min: bound,
    max: bound,
    options: fc.subarray(['x', 'y', 'z'], { minLength: 1 }),
    max_length: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
  })
  .map(({ key: name, type, required, min, max, options, max_length }): Field => {
    const common = { key: name, label: name, type, required };
    if (type === 'enum') return { ...common, options };
    if (type === 'integer')
      return { ...common, ...(min === undefined ? {} : { min }), ...(max === undefined ? {} : { max }) };
    return type === 'text' && max_length !== undefined ? { ...common, max_length } : common;
  });
const anyFields = fc.uniqueArray(anyField, { selector: (each) => each.key, maxLength: 3 });
const anyInput = fc.dictionary(key, fc.constantFrom(-3, -1, 0, 2, 'x', 'y', 'xyz', 'wxyz', true));

describe('The rules of a change', () => {
  it('are broken by exactly the records that the new fields refuse or give another type', () => {
    fc.assert(
      fc.property(anyFields, anyFields, anyInput, (before, after, input) => {
        const old = resolve(before, undefined, input);
        fc.pre(old.misfits.length === 0);
        const isBroken = brokenBy(tightenings(before, after), old.values) !== undefined;
        const isRefused = resolve(after, undefined, old.values).misfits.length > 0;
        // A field with a value keeps its type, even if the value would fit the new one.
        const types = new Map(after.map((each) => [each.key, each.type]));
        const isRetyped = before.some((each) => each.key in old.values && types.get(each.key) !== each.type);
        expect(isBroken).to.equal(isRefused || isRetyped);
      }),
      { numRuns: 3000 },
    );
  });
});

describe('Values', () => {
  it('that are equal as JSON have one canonical text', () => {
    const shuffledKeys = (value: unknown): unknown => {
      if (Array.isArray(value)) return value.map(shuffledKeys);
      if (typeof value !== 'object' || value === null) return value;
      return Object.fromEntries(
        Object.entries(value)
          .reverse()
          .map(([name, member]) => [name, shuffledKeys(member)]),
      );
    };
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (one, two) => {
        const values: Values = JSON.parse(JSON.stringify({ one, two, other: shuffledKeys(one) }));
        expect(isSameJson(values.one, values.other)).to.equal(true);
        expect(isSameJson(values.one, values.two)).to.equal(
          canonicalJson(values.one ?? null) === canonicalJson(values.two ?? null),
        );
        expect(JSON.parse(canonicalJson(values.one ?? null))).to.deep.equal(values.one);
        expect(isSameJson(undefined, values.one)).to.equal(false);
      }),
    );
  });

  it('of JSON are bounded in depth and size, and storable', () => {
    const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)]);
    expect(jsonProblem(nested(32))).to.equal(undefined);
    expect(jsonProblem(nested(33))).to.be.a('string');
    expect(jsonProblem('x'.repeat(65_534))).to.equal(undefined);
    expect(jsonProblem('x'.repeat(65_535))).to.be.a('string');
    expect(jsonProblem('ä'.repeat(32_768))).to.be.a('string');
    expect(jsonProblem({ a: 'b\u0000' })).to.be.a('string');
    expect(jsonProblem({ 'a\ud800': 1 })).to.be.a('string');
    expect(jsonProblem(JSON.parse('{"__proto__": 1}'))).to.be.a('string');
    for (const key of ['"', '\\', '\n', '\u0001'])
      expect(jsonProblem({ in: { [key]: 1 } })).to.equal('A key cannot be stored.');
    expect(jsonProblem({ ' ': 1, 'a"': 1, "'": 1 })).to.equal(undefined);
  });

  it('of decimals have at most 38 digits, not counting sign and point', () => {
    for (const text of ['0', '-0.00', `-0.${'1'.repeat(37)}`, '9'.repeat(38)])
      expect(isDecimal(text), text).to.equal(true);
    for (const text of ['', '-', '1.', '.1', '00', '1e1', ' 1', `0.${'1'.repeat(38)}`]) {
      expect(isDecimal(text), text).to.equal(false);
    }
  });
});
