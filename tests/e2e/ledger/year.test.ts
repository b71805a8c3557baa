import { expect } from 'chai';
import { hledgerBalances, hledgerVersion } from '../../support/hledger.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import { create, define } from '../entities/support.ts';
import { entriesOf, makeRule } from './rules-support.ts';
import {
  balanceSheet,
  ENTRIES,
  GL,
  LOCK,
  posted,
  profitAndLoss,
  REPORTS,
  trialBalance,
  withBooks,
} from './support.ts';

/** A small company's year: figures computed by hand, in cents. */

const CHART = [
  { code: '1000', name: 'Bank', type: 'Asset' },
  { code: '1200', name: 'Receivables', type: 'Asset' },
  { code: '1500', name: 'Equipment', type: 'Asset' },
  { code: '1590', name: 'Depreciation so far', type: 'Asset' },
  { code: '2100', name: 'Payables', type: 'Liability' },
  { code: '2200', name: 'VAT', type: 'Liability' },
  { code: '2300', name: 'Wages owed', type: 'Liability' },
  { code: '3000', name: 'Capital', type: 'Equity' },
  { code: '3900', name: 'Retained earnings', type: 'Equity' },
  { code: '4000', name: 'Sales', type: 'Revenue' },
  { code: '4900', name: 'Returns', type: 'Revenue' },
  { code: '5000', name: 'Materials', type: 'Expense' },
  { code: '6000', name: 'Wages', type: 'Expense' },
  { code: '6500', name: 'Depreciation', type: 'Expense' },
  { code: '6600', name: 'Rent', type: 'Expense' },
];
const GROUPS = new Map([
  ['Asset', 'Assets'],
  ['Liability', 'Liabilities'],
  ['Equity', 'Equity'],
  ['Revenue', 'Revenues'],
  ['Expense', 'Expenses'],
]);

/** Amounts by account: debits are positive, credits negative. */
type Moves = Readonly<Record<string, number>>;
const OPENING: Moves = {
  1000: 5_000_000,
  1200: 200_000,
  1500: 1_200_000,
  2100: -150_000,
  3000: -6_000_000,
  3900: -250_000,
};
const PURCHASE: Moves = { 5000: 300_000, 2200: 57_000, 2100: -357_000 };
const CUSTOMERS_PAY: Moves = { 1000: 795_000, 1200: -795_000 };
const SUPPLIERS_PAID: Moves = { 2100: 507_000, 1000: -507_000 };
const RENT_MISTYPED: Moves = { 6600: 120_000, 1000: -120_000 };
const RENT: Moves = { 6600: 102_000, 1000: -102_000 };
const PAYROLL: Moves = { 6000: 700_000, 2300: -180_000, 1000: -520_000 };
const PAYROLL_TAX: Moves = { 2300: 180_000, 1000: -180_000 };
const RETURN: Moves = { 4900: 50_000, 2200: 9_500, 1200: -59_500 };
const VAT_PAID: Moves = { 2200: 218_500, 1000: -218_500 };
const DEPRECIATION: Moves = { 6500: 240_000, 1590: -240_000 };
const CLOSING: Moves = {
  4000: 1_500_000,
  4900: -50_000,
  5000: -300_000,
  6000: -700_000,
  6500: -240_000,
  6600: -102_000,
  3900: -108_000,
};

const linesOf = (moves: Moves) =>
  Object.entries(moves).map(([account_code, amount]) =>
    amount > 0 ? { account_code, debit: amount } : { account_code, credit: -amount },
  );

describe('A small company’s year', () => {
  let world: World;
  let tenant: TestTenant;

  const api = () => tenant.admin.api;
  const book = (date: string, memo: string, moves: Moves) =>
    posted(api(), { date, memo, lines: linesOf(moves) });
  const report = (path: string) => api().get(`${REPORTS}/${path}`);
  const line = (code: string, amount: number) => ({
    code,
    name: CHART.find((each) => each.code === code)?.name,
    amount,
  });

  before(async () => {
    world = await sharedWorld();
    tenant = await withBooks(world, CHART);
    const entity = await define(tenant.admin, { key: 'net', type: 'decimal' }, { key: 'day', type: 'date' });
    const rule = await makeRule(api(), {
      name: 'Sale',
      when: 'has(payload.values.net)',
      date: 'values.day',
      lines: [
        { account_code: '1200', side: 'debit', amount: { remainder: true } },
        { account_code: '4000', side: 'credit', amount: { path: 'values.net' } },
        { account_code: '2200', side: 'credit', amount: { percent: 19, path: 'values.net' } },
      ],
    });
    await book('2026-01-01', 'Opening balance', OPENING);
    await book('2026-01-20', 'Purchase of materials', PURCHASE);
    await create(tenant.admin, entity, { net: '5000.00', day: '2026-02-10' });
    await book('2026-02-28', 'Customers pay', CUSTOMERS_PAY);
    await book('2026-03-01', 'Suppliers are paid', SUPPLIERS_PAID);
    const mistake = await book('2026-03-31', 'Rent', RENT_MISTYPED);
    const mirror = await api().post(`${ENTRIES}/${mistake.id}/reverse`, { date: '2026-04-02' });
    expect(mirror.status).to.equal(201);
    await book('2026-04-02', 'Rent, put right', RENT);
    await book('2026-06-30', 'Payroll', PAYROLL);
    await book('2026-07-10', 'Taxes on wages', PAYROLL_TAX);
    await create(tenant.admin, entity, { net: '10000', day: '2026-09-15' });
    await book('2026-10-05', 'Goods come back', RETURN);
    await book('2026-10-10', 'VAT is paid', VAT_PAID);
    await book('2026-12-31', 'Depreciation', DEPRECIATION);
    await entriesOf(api(), rule, 2);
  });
  after(endWorld);

  /** Net debit of each account with a balance, computed by hledger from the exported journal. */
  const secondOpinion = async (): Promise<Record<string, number>> => {
    const journal = (await api().get(`${GL}/journal.hledger`)).text;
    const found = hledgerBalances(journal, '2026-12-31');
    return Object.fromEntries(
      CHART.flatMap(({ code, name, type }) => {
        const balance = found.get(`${GROUPS.get(type)}:${code} ${name} EUR`);
        return balance === undefined ? [] : [[code, Math.round(Number(balance) * 100)]];
      }),
    );
  };

  it('has a profit, less returns and reversals', async () => {
    const pnl = (await report('pnl?from=2026-01-01&to=2026-12-31')).as(profitAndLoss);
    expect(pnl).to.deep.equal({
      currency: 'EUR',
      from: '2026-01-01',
      to: '2026-12-31',
      revenue: [line('4000', 1_500_000), line('4900', -50_000)],
      expenses: [line('5000', 300_000), line('6000', 700_000), line('6500', 240_000), line('6600', 102_000)],
      total_revenue: 1_450_000,
      total_expenses: 1_342_000,
      net_income: 108_000,
    });
    const march = (await report('pnl?from=2026-03-01&to=2026-03-31')).as(profitAndLoss);
    expect(march.net_income).to.equal(-120_000);
    const april = (await report('pnl?from=2026-04-01&to=2026-04-30')).as(profitAndLoss);
    expect(april.net_income).to.equal(18_000);
  });

  it('balances in its middle and at its end', async () => {
    const middle = (await report('balance-sheet?as_of=2026-06-30')).as(balanceSheet);
    expect(middle).to.deep.include({
      balanced: true,
      // Revenue of 500,000 less 300,000 of materials, 102,000 of rent and 700,000 of wages.
      current_earnings: -602_000,
      total_assets: 5_866_000,
      total_liabilities: 218_000,
      total_equity: 5_648_000,
    });
    const end = (await report('balance-sheet?as_of=2026-12-31')).as(balanceSheet);
    expect(end).to.deep.include({
      assets: [
        line('1000', 4_267_500),
        line('1200', 1_130_500),
        line('1500', 1_200_000),
        line('1590', -240_000),
      ],
      current_earnings: 108_000,
      total_assets: 6_358_000,
      total_liabilities: 0,
      total_equity: 6_358_000,
      balanced: true,
    });
    expect(end.equity).to.deep.equal([line('3000', 6_000_000), line('3900', 250_000)]);
  });

  it('has a trial balance with opening, movement and closing', async () => {
    const trial = (await report('trial-balance?from=2026-01-02&to=2026-12-31')).as(trialBalance);
    const bank = trial.accounts.find(({ code }) => code === '1000');
    expect(bank).to.include({
      opening_debit: 5_000_000,
      opening_credit: 0,
      // Payments of the customers, and the reversal of the mistyped rent.
      debit: 915_000,
      credit: 1_647_500,
      closing_debit: 4_267_500,
      closing_credit: 0,
    });
    expect(trial.totals).to.deep.include({
      opening_debit: 6_400_000,
      opening_credit: 6_400_000,
      closing_debit: 7_990_000,
      closing_credit: 7_990_000,
    });
    expect(trial.balanced).to.equal(true);
  });

  it('has the balances that hledger computes, account by account', async function () {
    if (hledgerVersion() === undefined) this.skip();
    const trial = (await report('trial-balance?to=2026-12-31')).as(trialBalance);
    const ours = trial.accounts
      .map((each) => [each.code, each.closing_debit - each.closing_credit] as const)
      .filter(([, net]) => net !== 0);
    expect(await secondOpinion()).to.deep.equal(Object.fromEntries(ours));
  });

  it('is closed: its profit is retained, nothing else changes, and the period is locked', async () => {
    const before = (await report('balance-sheet?as_of=2026-12-31')).as(balanceSheet);
    await book('2026-12-31', 'Year end', CLOSING);
    const locked = await api().request('PUT', LOCK, { locked_through: '2026-12-31' });
    expect(locked.status).to.equal(200);
    const after = (await report('balance-sheet?as_of=2026-12-31')).as(balanceSheet);
    expect(after).to.deep.equal({
      ...before,
      equity: [line('3000', 6_000_000), line('3900', 358_000)],
      current_earnings: 0,
    });
    const next = (await report('pnl?from=2027-01-01&to=2027-12-31')).as(profitAndLoss);
    expect(next).to.deep.include({ revenue: [], expenses: [], net_income: 0 });
    const trial = (await report('trial-balance?from=2027-01-01&to=2027-12-31')).as(trialBalance);
    expect(trial.totals).to.deep.include({ opening_debit: 6_598_000, opening_credit: 6_598_000, debit: 0 });
    if (hledgerVersion() === undefined) return;
    expect(await secondOpinion()).to.deep.equal({
      1000: 4_267_500,
      1200: 1_130_500,
      1500: 1_200_000,
      1590: -240_000,
      3000: -6_000_000,
      3900: -358_000,
    });
  });
});
