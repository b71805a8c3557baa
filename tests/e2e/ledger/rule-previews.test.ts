import { randomUUID } from 'node:crypto';
import { expect } from 'chai';
import { issuesOf } from '../entities/support.ts';
import {
  allEntries,
  FIXED,
  failuresOf,
  makeRule,
  previewed,
  RULES,
  SALE,
  salesSuite,
} from './rules-support.ts';
import { CHART, LOCK, refused } from './support.ts';

describe('Posting rules', () => {
  const { api } = salesSuite();

  describe('are previewed', () => {
    const preview = async (id: string, payload: unknown) => api().post(`${RULES}/${id}/preview`, { payload });

    it('with the entry that they would make, which is not stored', async () => {
      const made = await makeRule(api(), {
        active: false,
        when: 'payload.values.total > 1',
        date: 'values.day',
        lines: [
          { account_code: '1200', side: 'debit', amount: { path: 'values.total' }, memo: 'gross' },
          { account_code: '2100', side: 'credit', amount: { percent: 10, path: 'values.total' } },
          { account_code: '4000', side: 'credit', amount: { remainder: true } },
        ],
      });
      const before = await allEntries(api());
      const payload = { values: { total: 105, day: '2026-03-04' } };
      const name = (code: string) => CHART.find((each) => each.code === code)?.name ?? '';
      expect((await preview(made.id, payload)).as(previewed)).to.deep.equal({
        matches: true,
        entry: {
          state: 'posted',
          date: '2026-03-04',
          memo: 'Sales',
          currency: 'EUR',
          lines: [
            {
              line_no: 1,
              account_code: '1200',
              account_name: name('1200'),
              debit: 105,
              credit: 0,
              memo: 'gross',
            },
            { line_no: 2, account_code: '2100', account_name: name('2100'), debit: 0, credit: 10 },
            { line_no: 3, account_code: '4000', account_name: name('4000'), debit: 0, credit: 95 },
          ],
          total_debit: 105,
          total_credit: 105,
          source: { kind: 'entity.created', rule_id: made.id },
        },
      });
      expect((await preview(made.id, { values: { total: 1 } })).as(previewed)).to.deep.equal({
        matches: false,
      });
      expect((await preview(made.id, {})).as(previewed)).to.deep.equal({ matches: false });
      expect(await allEntries(api())).to.deep.equal(before);
      expect(await failuresOf(api(), made, 0)).to.deep.equal([]);
    });

    it('without an entry, when there is nothing to post', async () => {
      const made = await makeRule(api(), { active: false });
      expect((await preview(made.id, { values: { total: 0 } })).as(previewed)).to.deep.equal({
        matches: true,
      });
    });

    it('with their failure', async () => {
      const made = await makeRule(api(), { active: false, date: 'values.day' });
      const day = '2026-03-04';
      const bad: readonly (readonly [object, string])[] = [
        [{ day }, 'payload.values.total invalid_amount'],
        [{ day, total: 1.5 }, 'payload.values.total invalid_amount'],
        [{ day, total: '1.005' }, 'payload.values.total invalid_amount'],
        [{ day, total: '1e3' }, 'payload.values.total invalid_amount'],
        [{ day, total: '90071992547409.92' }, 'payload.values.total invalid_amount'],
        [{ day, total: true }, 'payload.values.total invalid_amount'],
        [{ day, total: -1 }, 'payload.values.total negative_amount'],
        [{ day, total: '-0.01' }, 'payload.values.total negative_amount'],
        [{ total: 1 }, 'payload.values.day invalid_date'],
        [{ total: 1, day: '2027-02-29' }, 'payload.values.day invalid_date'],
        [{ total: 1, day: 20260304 }, 'payload.values.day invalid_date'],
      ];
      for (const [values, issue] of bad) {
        const answer = await preview(made.id, { values });
        expect(refused(answer), JSON.stringify(values)).to.deep.include({
          status: 422,
          error: 'constraint_violated',
        });
        expect(issuesOf(answer.json)).to.deep.equal([issue]);
      }
      await api().request('PUT', LOCK, { locked_through: '2026-03-31' });
      expect((await preview(made.id, { values: { total: 1, day } })).error).to.equal('period_locked');
      await api().request('PUT', LOCK, { locked_through: null });
      const uneven = await makeRule(api(), {
        active: false,
        lines: [...FIXED(5).slice(0, 1), ...FIXED(4).slice(1)],
      });
      expect(refused(await preview(uneven.id, {}))).to.deep.equal({
        status: 422,
        error: 'unbalanced',
        details: { total_debit: 5, total_credit: 4, difference: 1, currency: 'EUR' },
      });
    });

    it('only with a payload, and only for an existing rule', async () => {
      const made = await makeRule(api(), { active: false });
      for (const body of [{}, { payload: null }, { payload: [] }, { payload: {}, more: 1 }]) {
        expect((await api().post(`${RULES}/${made.id}/preview`, body)).error).to.equal('validation_failed');
      }
      expect((await preview(randomUUID(), {})).error).to.equal('not_found');
      const odd = JSON.parse('{"values": {"__proto__": {"total": 5}, "constructor": 1}}');
      const proto = await makeRule(api(), {
        active: false,
        lines: [{ ...SALE.lines[0], amount: { path: 'values.__proto__.total' } }, SALE.lines[1]],
      });
      // An own member may have any name; an inherited one is not found.
      expect((await preview(proto.id, odd)).as(previewed).entry?.total_debit).to.equal(5);
      expect((await preview(proto.id, { values: {} })).error).to.equal('constraint_violated');
    });
  });
});
