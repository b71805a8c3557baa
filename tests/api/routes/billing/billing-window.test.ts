import { expect } from 'chai';
import { z } from 'zod';
import { SENTENCES } from '../../../../api/http/issues.ts';
import { windowFields, windowOf } from '../../../../api/routes/billing/billing-window.ts';
import { DomainError } from '../../../../domain/core/errors.ts';

const schema = z.object(windowFields);
const NOW = Date.UTC(2028, 1, 29, 12);

describe('A window of partner billing', () => {
  for (const [text, wanted] of [
    ['2028-02-29', '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T00:00:00.000Z', '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T01:30:00+01:30', '2028-02-29T00:00:00.000Z'],
    ['2028-02-29T00:00:00.0009Z', '2028-02-29T00:00:00.000Z'],
    ['0001-01-01', '0001-01-01T00:00:00.000Z'],
    ['9999-12-31T23:59:59.999Z', '9999-12-31T23:59:59.999Z'],
  ] as const) {
    it(`accepts ${text}`, () => {
      expect(schema.parse({ from: text }).from).to.equal(wanted);
    });
  }

  for (const text of [
    '',
    ' 2028-02-29',
    '2027-02-29',
    '0000-01-01',
    '+10000-01-01',
    '20280229',
    '2028-02-29T24:00:00Z',
    '2028-02-29T23:59:60Z',
    '2028-02-29T00:00:00',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '1e3',
    'Infinity',
    1,
    null,
    [],
  ]) {
    it(`refuses ${JSON.stringify(text)}, and describes a valid one`, () => {
      const { error } = schema.safeParse({ to: text }, SENTENCES);
      expect(error?.issues.map(({ path }) => path)).to.deep.equal([['to']]);
      expect(error?.issues[0]?.message).to.contain('2026-11-01T00:00:00Z');
    });
  }

  it('defaults to the present calendar month (UTC)', () => {
    const [from, to] = ['2028-02-01T00:00:00.000Z', '2028-03-01T00:00:00.000Z'];
    expect(windowOf({}, NOW)).to.deep.equal({ from, to });
    expect(windowOf({ to: '2028-02-02T00:00:00.000Z' }, NOW)).to.deep.equal({
      from,
      to: '2028-02-02T00:00:00.000Z',
    });
    expect(windowOf({}, Date.UTC(2028, 11, 31, 23, 59, 59, 999))).to.deep.equal({
      from: '2028-12-01T00:00:00.000Z',
      to: '2029-01-01T00:00:00.000Z',
    });
    for (const given of [{ from: to }, { to: from }, { from, to: from }]) {
      expect(() => windowOf(given, NOW))
        .to.throw(DomainError)
        .with.property('code', 'validation_failed');
    }
  });
});
