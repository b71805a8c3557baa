import { expect } from 'chai';
import fc from 'fast-check';
import type { Field } from '../../../domain/entities/fields.ts';
import {
  duplicates,
  lacking,
  misplaced,
  publicFields,
  submissionIssues,
} from '../../../domain/forms/fields.ts';
import { valuesOfTexts } from '../../../domain/forms/texts.ts';

const field = (key: string, type: Field['type'], own: Partial<Field> = {}): Field => ({
  key,
  label: key,
  type,
  required: false,
  ...own,
});
const asked = (field_key: string, required = false) => ({ field_key, label: `Your ${field_key}`, required });

const ENTITY: readonly Field[] = [
  field('text', 'text', { required: true, max_length: 5 }),
  field('long', 'long_text'),
  field('whole', 'integer', { min: 1 }),
  field('exact', 'decimal'),
  field('tick', 'boolean', { required: true }),
  field('agree', 'boolean'),
  field('day', 'date'),
  field('moment', 'datetime'),
  field('pick', 'enum', { options: ['a', 'b'], required: true, default: 'a' }),
  field('owner', 'user'),
  field('other', 'reference'),
  field('any', 'json'),
];
const keys = ['text', 'long', 'whole', 'exact', 'tick', 'day', 'moment', 'pick'];
const FIELDS = publicFields([...keys.map((key) => asked(key)), asked('agree', true)], ENTITY);

const codes = (issues: readonly { path: string; code: string }[]) =>
  issues.map(({ path, code }) => `${path} ${code}`);

describe('The fields of a form', () => {
  it('are distinct', () => {
    expect(codes(duplicates([asked('a'), asked('b'), asked('a'), asked('a')]))).to.deep.equal([
      'fields.2.field_key duplicate',
      'fields.3.field_key duplicate',
    ]);
  });

  it('are fields of the entity that a public form can offer', () => {
    const issues = misplaced(
      ['text', 'none', 'owner', 'other', 'any', 'toString'].map((key) => asked(key)),
      ENTITY,
    );
    expect(codes(issues)).to.deep.equal([
      'fields.1.field_key unknown_field',
      'fields.2.field_key type_mismatch',
      'fields.3.field_key type_mismatch',
      'fields.4.field_key type_mismatch',
      'fields.5.field_key unknown_field',
    ]);
  });

  it('include each required field of the entity that has no default', () => {
    expect(lacking([asked('text'), asked('tick')], ENTITY)).to.deep.equal([]);
    expect(lacking([], ENTITY).map(({ message }) => /field (\w+)/.exec(message)?.[1])).to.deep.equal([
      'text',
      'tick',
    ]);
  });

  it('are required if the form or the entity requires them', () => {
    const required = FIELDS.filter((each) => each.required).map(({ key }) => key);
    expect(required).to.deep.equal(['text', 'tick', 'agree']);
    expect(FIELDS.find(({ key }) => key === 'text')).to.deep.include({ label: 'Your text', maxLength: 5 });
  });

  it('are those that the entity still has', () => {
    const left = publicFields([asked('text'), asked('gone'), asked('owner')], ENTITY);
    expect(left.map(({ key }) => key)).to.deep.equal(['text']);
  });
});

describe('A submission for a form', () => {
  const issues = (values: Record<string, unknown>) => codes(submissionIssues(FIELDS, ENTITY, values)).sort();

  it('gets no issue when the form itself finds none; the entity’s rules are checked later', () => {
    expect(issues({ agree: true })).to.deep.equal([]);
    expect(issues({ agree: false, whole: 'x' })).to.deep.equal([]);
  });

  it('needs the fields that the form requires, has no unknown ones, and lists all issues at once', () => {
    for (const agree of [undefined, null, '']) {
      expect(issues({ agree, text: 'x', tick: true })).to.deep.equal(['values.agree missing_required']);
    }
    expect(issues({ owner: 'x', whole: 0, tick: 'x' })).to.deep.equal([
      'values.agree missing_required',
      'values.owner unknown_field',
      'values.text missing_required',
      'values.tick type_mismatch',
      'values.whole min',
    ]);
  });

  it('truncates input in issues', () => {
    const many = Object.fromEntries(Array.from({ length: 1000 }, (_, i) => [`${'k'.repeat(500)}${i}`, i]));
    const found = submissionIssues(FIELDS, ENTITY, many);
    expect(found).to.have.length(100);
    expect(Math.max(...found.map(({ path }) => path.length))).to.be.at.most(107);
    const halved = { [`${'x'.repeat(99)}🙂`]: 1 };
    expect(submissionIssues(FIELDS, ENTITY, halved).every(({ path }) => path.isWellFormed())).to.equal(true);
  });
});

describe('Texts of a form', () => {
  const values = (texts: Record<string, string | string[]>) => {
    // Unticked checkboxes are tested below.
    const { tick: _tick, ...rest } = valuesOfTexts(FIELDS, texts, 'UTC');
    return rest;
  };

  for (const [key, text, value] of [
    ['text', ' as it is ', ' as it is '],
    ['long', 'a\r\nb\nc\rd', 'a\nb\nc\rd'],
    ['whole', ' 007 ', 7],
    ['whole', '-3', -3],
    ['whole', '+3', 3],
    ['whole', '1.0', '1.0'],
    ['whole', '1e3', '1e3'],
    ['whole', '0x10', '0x10'],
    ['whole', 'Infinity', 'Infinity'],
    ['exact', '.50', '0.50'],
    ['exact', '007.10', '7.10'],
    ['exact', '-0.5', '-0.5'],
    ['exact', '0', '0'],
    ['exact', '000', '0'],
    ['exact', '1,5', '1,5'],
    ['exact', '1.', '1.'],
    ['exact', '-', '-'],
    ['exact', '.', '.'],
    ['exact', '12345678901234567890.123456789012345678', '12345678901234567890.123456789012345678'],
    ['agree', 'on', true],
    ['agree', 'true', true],
    ['agree', 'No', false],
    ['agree', 'maybe', 'maybe'],
    ['day', ' 2026-01-02 ', '2026-01-02'],
    ['moment', '2026-01-02T03:04', '2026-01-02T03:04:00.000Z'],
    ['moment', '2026-01-02T03:04:05+01:00', '2026-01-02T03:04:05+01:00'],
    ['pick', 'a', 'a'],
  ] as const) {
    it(`of ${key}: ${JSON.stringify(text)} is ${JSON.stringify(value)}`, () => {
      expect(values({ [key]: text })).to.deep.equal({ [key]: value });
    });
  }

  it('count as no value when they are empty', () => {
    for (const { key } of FIELDS) expect(values({ [key]: '' }), key).to.deep.equal({});
    expect(values({ text: ' \t' })).to.deep.equal({});
  });

  it('of an unticked checkbox are false, or absent when the form requires it', () => {
    expect(valuesOfTexts(FIELDS, {}, 'UTC')).to.deep.equal({ tick: false });
    expect(valuesOfTexts(FIELDS, { tick: '', agree: '' }, 'UTC')).to.deep.equal({ tick: false });
  });

  it('that are repeated or unknown stay unchanged', () => {
    expect(values({ whole: ['1', '2'], nope: '' })).to.deep.equal({ whole: ['1', '2'], nope: '' });
  });

  it('convert without an error, and stay unchanged for a text field', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...keys, 'agree', 'nope'), fc.string()), (texts) => {
        const found = valuesOfTexts(FIELDS, texts, 'Europe/Berlin');
        for (const [key, text] of Object.entries(texts)) {
          if (key === 'text' && text.trim() !== '') expect(found[key]).to.equal(text);
        }
        submissionIssues(FIELDS, ENTITY, found);
      }),
    );
  });
});
