import { expect } from 'chai';
import { DomainError } from '../../../domain/core/errors.ts';
import { evaluateCondition, parseCondition } from '../../../domain/expressions/condition.ts';
import { checkGuard, type GuardContext, holds, parseGuard } from '../../../domain/expressions/guard.ts';
import type { FieldSpecs } from '../../../domain/expressions/tree.ts';

const fields: FieldSpecs = {
  qty: { type: 'integer' },
  total: { type: 'decimal' },
  limit: { type: 'decimal' },
  title: { type: 'text' },
  owner: { type: 'user' },
  paid: { type: 'boolean' },
  due: { type: 'date' },
  seen: { type: 'datetime' },
  kind: { type: 'enum', options: ['big', 'small'] },
  extra: { type: 'json' },
};

const context: GuardContext = {
  record: {
    qty: 7,
    total: '100.10',
    limit: '99.9',
    title: 'x',
    owner: 'u1',
    paid: true,
    due: '2026-03-01',
    kind: 'big',
  },
  fields,
  state: 'open',
  actor: { id: 'u1', role: 'admin' },
  payload: {
    amount: 5,
    price: '12.50',
    ok: true,
    deep: { list: [1], text: 'abc', none: null },
    at: '2026-01-01T00:00:00Z',
  },
  now: Date.parse('2026-03-01T12:00:00Z'),
};

const issuesOf = (action: () => unknown): unknown => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return { code: error.code, field: error.details?.field };
    throw error;
  }
  return undefined;
};

describe('Guards', () => {
  const rows: [string, boolean][] = [
    ['record.qty > 5', true],
    ['record.qty > 6.5', true],
    ['record.total > record.limit', true],
    ['record.total > 100.1', false],
    ['record.total == record.qty', false],
    ['record.owner == actor.id', true],
    ['actor.role == "admin" && state == "open"', true],
    ['actor.role in ["operator"]', false],
    ['record.paid', true],
    ['!record.paid', false],
    ['record.due <= "2026-03-01"', true],
    ['record.seen == null', true],
    ['record.seen < now', false],
    ['record.title != null', true],
    ['record.seen != null', false],
    ['record.seen <= payload.missing', false],
    ['record.seen == payload.missing', true],
    ['!(record.seen < now)', true],
    ['now == now()', true],
    ['now >= timestamp("2026-03-01T12:00:00Z")', true],
    ['record.kind == "big"', true],
    ['has(record.extra)', false],
    ['has(record.title) && has(payload.deep) && !has(payload.deep.none)', true],
    ['record.title.contains("x")', true],
    ['payload.deep.text.startsWith(record.title)', false],
    ['payload.deep.text.endsWith("bc")', true],
    ['payload.amount >= 5', true],
    ['payload.amount <= record.qty', true],
    ['payload.price > 12', true],
    ['payload.price == record.total', false],
    ['payload.ok', true],
    ['payload.at < now', true],
    ['payload.missing == null', true],
    ['payload.missing.deeper == null', true],
    ['payload.amount.deeper == null', true],
    ['payload.constructor == null && payload.__proto__ == null', true],
    ['payload.missing > 1', false],
    ['!(payload.missing > 1)', true],
    ['payload.amount == "five"', false],
    ['payload.amount != "five"', true],
    // A guard that cannot be evaluated is false, also when negated.
    ['payload.amount', false],
    ['!payload.amount', false],
    ['!(payload.deep.text > 5)', false],
    ['!(payload.deep == payload.deep)', false],
    ['!(payload.ok > payload.ok)', false],
    ['!payload.amount.contains("5")', false],
    ['!(record.unknown == 1)', false],
    ['!(actor.name == "x")', false],
    ['!(nothing == 1)', false],
    // Evaluation stops before the part that cannot be evaluated.
    ['record.paid || payload.amount', true],
    ['!record.paid && payload.amount', false],
  ];
  for (const [text, expected] of rows) {
    it(`${text} is ${expected}`, () => {
      expect(holds(parseGuard(text, 'guard'), context)).to.equal(expected);
    });
  }

  it('read the fields of a payload that is not an object as null', () => {
    for (const payload of [undefined, null, 5, 'text', [1]]) {
      expect(holds(parseGuard('payload.amount > 1', 'guard'), { ...context, payload })).to.equal(false);
      expect(holds(parseGuard('payload.amount == null', 'guard'), { ...context, payload })).to.equal(true);
    }
  });

  const sound = rows.map(([text]) => text).filter((text) => !/unknown|actor\.name|nothing/.test(text));
  it('are accepted when names and types fit', () => {
    for (const text of [...sound, 'true', 'record.seen < record.seen', 'record.qty == null']) {
      expect(checkGuard(parseGuard(text, 'guard'), { fields }), text).to.deep.equal([]);
    }
  });

  const unsound: [string, string][] = [
    ['record.other == 1', 'record.other'],
    ['record == null', 'record'],
    ['record.extra.deep == 1', 'record.extra.deep'],
    ['actor.name == "x"', 'actor.name'],
    ['qty > 1', 'qty'],
    ['record.qty > "many"', 'record.qty'],
    ['record.qty > record.title', 'record.qty and record.title'],
    ['record.qty == record.paid', 'record.paid'],
    ['record.kind == "huge"', 'huge'],
    ['record.kind > "big"', 'no order'],
    ['record.paid > payload.ok', 'no order'],
    ['record.qty == record.extra', 'json'],
    ['record.due < now', 'record.due and now'],
    ['record.due == "2026-02-30"', 'record.due'],
    ['record.seen > "2026-01-01"', 'record.seen'],
    ['record.kind in ["big", "huge"]', 'huge'],
    ['1 == 1', 'needs a name'],
    ['record.qty', 'not a condition'],
    ['"x"', 'not a condition'],
    ['now()', 'not a condition'],
    ['state', 'not a condition'],
    ['record.qty.contains("1")', 'need text'],
    ['record.title.contains(1)', 'string'],
    ['record.title.contains(record.qty)', 'need text'],
    ['has(record.other)', 'record.other'],
    ['1 in [1]', 'before it'],
    ['has(__proto__)', '__proto__'],
    ['has(record.__proto__)', 'record.__proto__'],
  ];
  for (const [text, part] of unsound) {
    it(`are refused: ${text}`, () => {
      const problems = checkGuard(parseGuard(text, 'guard'), { fields });
      expect(problems).to.have.length(1);
      expect(problems[0]).to.include(part);
    });
  }

  const strange: [string, string | undefined][] = [
    ['state == "draft"', undefined],
    ['state in ["draft", "sent"]', undefined],
    ['state == payload.state', undefined],
    ['state.startsWith("dr")', undefined],
    ['state != null', undefined],
    ['state > "e"', undefined],
    ['actor.role == "admin" || "operator" == actor.role', undefined],
    ['actor.id == "admins"', undefined],
    ['state == "gone"', '"gone"'],
    ['"gone" != state', '"gone"'],
    ['state in ["draft", "gone"]', '"gone"'],
    ['!(true && actor.role == "king")', '"king"'],
    ['actor.role in ["admin", "king"]', '"king"'],
  ];
  for (const [text, part] of strange) {
    it(`are checked for unknown states and roles: ${text}`, () => {
      const problems = checkGuard(parseGuard(text, 'guard'), { states: ['draft', 'sent'] });
      expect(problems).to.have.length(part === undefined ? 0 : 1);
      if (part !== undefined) expect(problems[0]).to.include(part);
    });
  }

  it('are checked, except for their fields, when the entity is unknown', () => {
    for (const text of ['record.any', 'record.any == 1', 'record.a < record.b', 'record.a.contains("x")']) {
      expect(checkGuard(parseGuard(text, 'guard'), {}), text).to.deep.equal([]);
    }
    for (const text of ['1', 'actor.foo == 1', 'actor == null', 'record == null', 'record.a.b == 1', 'now']) {
      expect(checkGuard(parseGuard(text, 'guard'), {}), text).to.have.length(1);
    }
  });

  it('with a syntax error are refused with their path', () => {
    for (const text of ['', 'record.qty >', 'x.matches("a")', 'record.qty + 1 > 2', '('.repeat(4096)]) {
      expect(
        issuesOf(() => parseGuard(text, 'transitions.0.guard')),
        text,
      ).to.deep.equal({
        code: 'validation_failed',
        field: 'transitions.0.guard',
      });
    }
  });
});

describe('Conditions over a payload', () => {
  const payload = { values: { total: '250.00', kind: 'big' }, to: 'paid', lines: [1] };
  const rows: [string, boolean][] = [
    ['payload.to == "paid" && payload.values.total > 200', true],
    ['payload.values.total == 250', true],
    ['payload.values.kind in ["small"]', false],
    ['has(payload.values.none)', false],
    ['payload.lines == 1', false],
    ['has(payload.lines)', true],
    ['payload.to.startsWith("pa")', true],
    ['payload', false],
    ['true', true],
  ];
  for (const [text, expected] of rows) {
    it(`${text} is ${expected}`, () => {
      expect(evaluateCondition(parseCondition(text, ['payload'], 'when'), { payload }, 0)).to.equal(expected);
    });
  }

  it('may use only the given names', () => {
    for (const text of [
      'record.qty > 1',
      'has(state)',
      'payload.a == actor.id',
      'b',
      'a.contains(payload.b)',
      'payload.a.contains(c)',
      '!(d in [1])',
    ]) {
      expect(
        issuesOf(() => parseCondition(text, ['payload'], 'when')),
        text,
      ).to.deep.equal({
        code: 'validation_failed',
        field: 'when',
      });
    }
  });
});
