import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../../domain/core/errors.ts';
import {
  type Filter,
  type FilteredRecord,
  matches,
  parseFilter,
  parseFilterText,
} from '../../../domain/expressions/filter.ts';
import { parseSort } from '../../../domain/expressions/sort.ts';
import type { FieldSpecs } from '../../../domain/expressions/tree.ts';
import { filterOf, NOW, recordOf, schema } from '../../support/filters.ts';

const FIELDS: FieldSpecs = {
  title: { type: 'text' },
  note: { type: 'long_text' },
  qty: { type: 'integer' },
  total: { type: 'decimal' },
  paid: { type: 'boolean' },
  due: { type: 'date' },
  seen: { type: 'datetime' },
  kind: { type: 'enum', options: ['big', 'small'] },
  order: { type: 'reference' },
  owner: { type: 'user' },
  extra: { type: 'json' },
};

const full: FilteredRecord = {
  id: 'r1',
  state: 'open',
  created_at: '2026-01-01T00:00:00.000Z',
  updated_at: '2026-02-01T00:00:00.000Z',
  values: {
    title: 'Ünit 7',
    note: '',
    qty: 7,
    total: '12.50',
    paid: false,
    due: '2026-03-01',
    seen: '2026-03-01T13:00:00+01:00',
    kind: 'big',
    order: 'o1',
    owner: 'u1',
    extra: { a: 1 },
  },
};
const bare: FilteredRecord = { ...full, id: 'r2', state: null, values: { title: null, constructor: null } };

const selects = (input: unknown, record = full): boolean => matches(parseFilter(input, FIELDS), record, NOW);

function refusal(action: () => unknown): DomainError {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
}

describe('Filters', () => {
  const rows: [filter: string, full: boolean, bare: boolean][] = [
    ['true', true, true],
    ['false', false, false],
    // text, reference, user
    ['title == "Ünit 7"', true, false],
    ['title != "Ünit 7"', false, true],
    ['title > "Zebra"', true, false],
    ['title.contains("nit")', true, false],
    ['title.contains("NIT")', false, false],
    ['title.startsWith("Ü")', true, false],
    ['title.endsWith("7")', true, false],
    ['!title.endsWith("7")', false, true],
    ['note == ""', true, false],
    ['note.contains("")', true, false],
    ['order == "o1" && owner in ["u1", "u2"]', true, false],
    // integer
    ['qty == 7', true, false],
    ['qty == 7.0', true, false],
    ['7 <= qty', true, false],
    ['qty < 8', true, false],
    ['!(qty < 8)', false, true],
    ['qty >= 8', false, false],
    ['qty != -7', true, true],
    ['qty in [1, 7]', true, false],
    ['!(qty in [1, 7])', false, true],
    ['qty in []', false, false],
    // decimal
    ['total == 12.5', true, false],
    ['total == "12.500"', true, false],
    ['total > 9', true, false],
    ['total < 12.5000000000000000000000000000000001', true, false],
    ['total in ["12.5", 3]', true, false],
    // boolean
    ['paid', false, false],
    ['!paid', true, true],
    ['paid == false', true, false],
    ['paid != true', true, true],
    // date, date-time
    ['due == "2026-03-01"', true, false],
    ['due > "2026-02-28"', true, false],
    ['seen == timestamp("2026-03-01T12:00:00Z")', true, false],
    ['seen == now()', true, false],
    ['seen < now()', false, false],
    ['created_at < now()', true, true],
    ['now() > updated_at', true, true],
    // enum, json
    ['kind == "big"', true, false],
    ['kind in ["small", null]', false, true],
    ['has(extra)', true, false],
    ['extra == null', false, true],
    // null, missing, system fields
    ['title == null', false, true],
    ['title != null', true, false],
    ['null == qty', false, true],
    ['qty < null', false, false],
    ['qty >= null', false, false],
    ['!(qty < null)', true, true],
    ['has(title)', true, false],
    ['has(id) && has(created_at)', true, true],
    ['state == "open"', true, false],
    ['state == null', false, true],
    ['id == "r1"', true, false],
    // logic
    ['qty == 1 || title == "Ünit 7" && paid == false', true, false],
    ['(qty == 1 || title == "Ünit 7") && paid == true', false, false],
  ];
  for (const [text, onFull, onBare] of rows) {
    it(`evaluate ${text}: ${onFull} with values, ${onBare} without`, () => {
      expect([selects(text), selects(text, bare)]).to.deep.equal([onFull, onBare]);
    });
  }

  it('read only a record’s own members', () => {
    const fields: FieldSpecs = JSON.parse('{"constructor":{"type":"json"},"__proto__":{"type":"text"}}');
    for (const text of ['has(constructor)', 'has(__proto__)', '__proto__ != null']) {
      expect(matches(parseFilter(text, fields), bare, NOW), text).to.equal(false);
    }
    expect(refusal(() => parseFilter('has(toString)', fields)).code).to.equal('invalid_filter');
    const record = { ...full, values: JSON.parse('{"__proto__":"x"}') };
    expect(matches(parseFilter('__proto__ == "x"', fields), record, NOW)).to.equal(true);
  });

  it('match exactly when their negation does not, and obey De Morgan’s laws', () => {
    const cases = schema.chain((fields) =>
      fc.tuple(fc.constant(fields), recordOf(fields), filterOf(fields), filterOf(fields)),
    );
    fc.assert(
      fc.property(cases, ([fields, values, one, other]) => {
        const record = { ...values, id: 'a' };
        const holds = (text: string) => matches(parseFilter(text, fields), record, NOW);
        const [a, b] = [`(${one.text})`, `(${other.text})`];
        expect(holds(`!${a}`)).to.equal(!holds(a));
        expect(holds(`!(${a} && ${b})`)).to.equal(holds(`!${a} || !${b}`));
        expect(holds(`!(${a} || ${b})`)).to.equal(holds(`!${a} && !${b}`));
      }),
      { numRuns: 300 },
    );
  });

  it('are plain JSON', () => {
    const filter: Filter = parseFilter('seen < now() && total in [1, null] || title.contains("x")', FIELDS);
    expect(JSON.parse(JSON.stringify(filter))).to.deep.equal(filter);
  });
});

describe('The object form of filters', () => {
  const pairs: [object, string][] = [
    [{ qty: 7 }, 'qty == 7'],
    [{ qty: { $gte: 1, $lt: 9 } }, 'qty >= 1 && qty < 9'],
    [{ qty: 7, paid: true }, 'qty == 7 && paid'],
    [{ title: null }, 'title == null'],
    [{ kind: { $in: ['big', null] } }, 'kind in ["big", null]'],
    [{ kind: { $nin: ['big'] } }, '!(kind in ["big"])'],
    [{ extra: { $exists: true } }, 'has(extra)'],
    [{ extra: { $exists: false } }, '!has(extra)'],
    [
      { $or: [{ qty: 1 }, { $not: { qty: 2, paid: { $ne: true } } }] },
      'qty == 1 || !(qty == 2 && paid != true)',
    ],
    [{ $and: [{ qty: 1 }] }, 'qty == 1'],
    [{ seen: { $gt: '2026-01-01T00:00:00Z' } }, 'seen > timestamp("2026-01-01T00:00:00Z")'],
    [{ created_at: { $lte: '2026-01-01T00:00:00Z' } }, 'created_at <= timestamp("2026-01-01T00:00:00Z")'],
    [{ total: { $eq: 12.5 } }, 'total == 12.5'],
    [{ total: '12345678901234567890.5' }, 'total == "12345678901234567890.5"'],
    [{ due: { $ne: '2026-01-01' } }, 'due != "2026-01-01"'],
  ];
  for (const [object, text] of pairs) {
    it(`${JSON.stringify(object)} is ${text}`, () => {
      expect(parseFilter(object, FIELDS)).to.deep.equal(parseFilter(text, FIELDS));
      expect(parseFilterText(` ${JSON.stringify(object)}`, FIELDS)).to.deep.equal(parseFilter(text, FIELDS));
    });
  }

  it('gives the tree of the text form for any filter', () => {
    const cases = schema.chain((fields) => fc.tuple(fc.constant(fields), filterOf(fields)));
    let compared = 0;
    fc.assert(
      fc.property(cases, ([fields, { text, object }]) => {
        const filter = parseFilter(text, fields);
        if (object === undefined) return;
        compared += 1;
        expect(parseFilter(object, fields)).to.deep.equal(filter);
      }),
      { numRuns: 1_000 },
    );
    expect(compared).to.be.greaterThan(300);
  });

  const nested = (depth: number): object => (depth === 0 ? { qty: 1 } : { $not: nested(depth - 1) });
  const refused: [string, unknown, string | undefined][] = [
    ['an empty one', {}, ''],
    ['an empty comparison', { qty: {} }, 'qty'],
    ['an empty list of filters', { $and: [] }, '$and'],
    ['a filter within that is empty', { $or: [{ qty: 1 }, {}] }, '$or.1'],
    ['a non-object under $not', { $not: 5 }, '$not'],
    ['an unknown operator', { qty: { $regex: 'x' } }, 'qty.$regex'],
    ['$where', { $where: 'x' }, '$where'],
    ['an operator without $', { qty: { gt: 1 } }, 'qty.gt'],
    ['$not of a field', { qty: { $not: { $gt: 1 } } }, 'qty.$not'],
    ['a list as a value', { qty: [1] }, 'qty'],
    ['an object in a list', { qty: { $in: [{}] } }, 'qty.$in.0'],
    ['a non-list under $in', { qty: { $in: 1 } }, 'qty.$in'],
    ['a non-boolean under $exists', { qty: { $exists: 1 } }, 'qty.$exists'],
    ['an unknown field', { other: 1 }, 'other'],
    ['a name that every object inherits', { constructor: 1 }, 'constructor'],
    ['__proto__', JSON.parse('{"__proto__":{"$eq":1}}'), '__proto__'],
    ['the wrong type', { qty: '7' }, 'qty'],
    ['an unknown option', { kind: 'huge' }, 'kind'],
    ['a text that is no time', { seen: 'yesterday' }, 'seen'],
    ['digits that JSON has lost', JSON.parse('{"total":12345678901234567890}'), 'total'],
    ['a lone surrogate', { title: '\ud83d' }, 'title'],
    ['13 levels', nested(13), undefined],
    ['201 nodes', { qty: { $in: Array.from({ length: 200 }, () => 1) } }, undefined],
    ['a million values', { qty: { $in: Array.from({ length: 1_000_000 }, () => 1) } }, undefined],
    ['more than 4 KiB', { title: 'x'.repeat(4090) }, undefined],
    ['a list', [{ qty: 1 }], undefined],
    ['null', null, undefined],
    ['a number', 5, undefined],
    ['true', true, undefined],
    ['undefined', undefined, undefined],
  ];
  for (const [what, input, path] of refused) {
    it(`refuses ${what}`, () => {
      const error = refusal(() => parseFilter(input, FIELDS));
      expect(error.code).to.equal('invalid_filter');
      expect(error.details).to.have.property('offset', 0);
      if (path !== undefined) expect(error.details).to.have.property('path', path);
    });
  }

  it('accepts 12 levels', () => {
    expect(selects(nested(12))).to.equal(selects('qty == 1'));
  });
});

describe('Refused filters', () => {
  const refused: [string, number][] = [
    ['', 0],
    ['   ', 0],
    ['other == 1', 0],
    ['qty == 1 && other == 1', 12],
    ['title.name == 1', 0],
    ['record.qty == 1', 0],
    ['tenant_id == "x"', 0],
    ['__proto__ == 1', 0],
    ['qty', 0],
    ['"x"', 0],
    ['null', 0],
    ['1 == 1', 2],
    ['qty == total', 7],
    ['qty == "7"', 7],
    ['qty == 1.5', 7],
    ['qty == 9007199254740992', 7],
    ['qty == true', 7],
    ['title == 7', 9],
    ['total == "much"', 9],
    ['paid == "true"', 8],
    ['paid == 1', 8],
    ['due == "2026-02-30"', 7],
    ['due == now()', 7],
    ['due > timestamp("2026-01-01T00:00:00Z")', 6],
    ['seen > "2026-01-01T00:00:00Z"', 7],
    ['created_at > "2026-01-01"', 13],
    ['kind == "huge"', 8],
    ['kind in ["big", "huge"]', 16],
    ['kind > "big"', 5],
    ['paid > false', 5],
    ['paid < null', 5],
    ['extra > null', 6],
    ['extra == 1', 9],
    ['kind.contains("b")', 0],
    ['qty.contains("1")', 0],
    ['extra.startsWith("1")', 0],
    ['title.contains(1)', 15],
    ['title.contains(note)', 15],
    ['"a" in title', 7],
    ['5 in [5]', 0],
    ['title.matches(".*")', 0],
    ['title.lowerAscii() == "a"', 0],
    ['now == timestamp("2026-01-01T00:00:00Z")', 0],
  ];
  for (const [text, offset] of refused) {
    it(`name the offset: ${JSON.stringify(text)} at ${offset}`, () => {
      const error = refusal(() => parseFilter(text, FIELDS));
      expect(error.code).to.equal('invalid_filter');
      expect(error.details?.offset, error.message).to.equal(offset);
      expect(refusal(() => parseFilterText(text, FIELDS)).details).to.deep.equal(error.details);
    });
  }

  it('of invalid JSON name the offset', () => {
    expect(refusal(() => parseFilterText('{"qty": 1,}', FIELDS)).details).to.deep.equal({ offset: 10 });
    expect(refusal(() => parseFilterText('{"qty":', FIELDS)).details).to.deep.equal({ offset: 7 });
    expect(refusal(() => parseFilterText(`{"a":${'['.repeat(100_000)}`, FIELDS)).code).to.equal(
      'invalid_filter',
    );
    const deep = `${'{"$not":'.repeat(5_000)}{}${'}'.repeat(5_000)}`;
    expect(refusal(() => parseFilterText(deep, FIELDS)).code).to.equal('invalid_filter');
  });

  it('refuse a sort by anything but one sortable field', () => {
    expect(parseSort('-total', FIELDS)).to.deep.equal({
      field: { key: 'total', type: 'decimal', system: false },
      direction: 'desc',
    });
    expect(parseSort('created_at', FIELDS).field.system).to.equal(true);
    for (const text of ['', '-', 'other', '--total', 'total,qty', 'extra', '__proto__', 'Total']) {
      expect(refusal(() => parseSort(text, FIELDS)).code, text).to.equal('validation_failed');
    }
  });
});
