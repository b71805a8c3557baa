import { expect } from 'chai';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';
import {
  ACCOUNTS,
  balanceSheet,
  drafted,
  ENTRIES,
  entry,
  GL,
  move,
  openedBefore,
  posted,
  profitAndLoss,
  REPORTS,
  trialBalance,
  withBooks,
} from './support.ts';

const MAX = Number.MAX_SAFE_INTEGER;

/** Entries of a small company's year: day, debited account, credited account, amount. */
const YEAR = [
  ['2026-01-01', '1000', '3000', 100_000],
  ['2026-01-15', '1200', '4000', 30_000],
  ['2026-02-01', '5000', '1000', 12_000],
  ['2026-02-28', '1000', '1200', 20_000],
  ['2026-03-31', '5000', '2100', 5_000],
  ['2026-07-01', '1200', '4000', 8_000],
] as const;

describe('Ledger reports', () => {
  let world: World;
  let tenant: TestTenant;
  before(async () => {
    world = await sharedWorld();
    tenant = await withBooks(world);
    for (const [date, debit, credit, amount] of YEAR) {
      await posted(tenant.admin.api, { date, lines: move(debit, credit, amount) });
    }
    await drafted(tenant.admin.api, { lines: move('1000', '4000', 99_999) });
  });
  after(endWorld);

  const get = (path: string) => tenant.admin.api.get(`${REPORTS}/${path}`);

  it('give the trial balance of a range: opening, gross movement, closing', async () => {
    const report = (await get('trial-balance?from=2026-02-01&to=2026-02-28')).as(trialBalance);
    expect(report).to.deep.include({ currency: 'EUR', from: '2026-02-01', to: '2026-02-28', balanced: true });
    const row = (
      code: string,
      name: string,
      type: string,
      [opening_debit, opening_credit, debit, credit, closing_debit, closing_credit]: readonly number[],
    ) => ({ code, name, type, opening_debit, opening_credit, debit, credit, closing_debit, closing_credit });
    expect(report.accounts).to.deep.equal([
      row('1000', 'Cash', 'Asset', [100_000, 0, 20_000, 12_000, 108_000, 0]),
      row('1200', 'Receivables', 'Asset', [30_000, 0, 0, 20_000, 10_000, 0]),
      row('3000', 'Capital', 'Equity', [0, 100_000, 0, 0, 0, 100_000]),
      row('4000', 'Sales', 'Revenue', [0, 30_000, 0, 0, 0, 30_000]),
      row('5000', 'Rent', 'Expense', [0, 0, 12_000, 0, 12_000, 0]),
    ]);
    expect(report.totals).to.deep.equal({
      opening_debit: 130_000,
      opening_credit: 130_000,
      debit: 32_000,
      credit: 32_000,
      closing_debit: 130_000,
      closing_credit: 130_000,
    });
  });

  it('include both ends of a range, and start at zero without a beginning', async () => {
    const through = (await get('trial-balance?to=2026-01-15')).as(trialBalance);
    expect(through.from).to.equal(null);
    expect(through.totals).to.include({ opening_debit: 0, debit: 130_000, closing_debit: 130_000 });
    const before = (await get('trial-balance?to=2026-01-14')).as(trialBalance);
    expect(before.totals).to.include({ opening_debit: 0, debit: 100_000 });
    const day = (await get('trial-balance?from=2026-01-15&to=2026-01-15')).as(trialBalance);
    expect(day.totals).to.include({ opening_debit: 100_000, debit: 30_000, closing_debit: 130_000 });
  });

  it('give profit and loss with natural signs', async () => {
    expect((await get('pnl?from=2026-01-01&to=2026-06-30')).as(profitAndLoss)).to.deep.equal({
      currency: 'EUR',
      from: '2026-01-01',
      to: '2026-06-30',
      revenue: [{ code: '4000', name: 'Sales', amount: 30_000 }],
      expenses: [{ code: '5000', name: 'Rent', amount: 17_000 }],
      total_revenue: 30_000,
      total_expenses: 17_000,
      net_income: 13_000,
    });
    const quiet = (await get('pnl?from=2026-04-01&to=2026-06-30')).as(profitAndLoss);
    expect(quiet).to.deep.include({ revenue: [], expenses: [], net_income: 0 });
  });

  it('give a balance sheet that balances within a year', async () => {
    expect((await get('balance-sheet?as_of=2026-03-31')).as(balanceSheet)).to.deep.equal({
      currency: 'EUR',
      as_of: '2026-03-31',
      assets: [
        { code: '1000', name: 'Cash', amount: 108_000 },
        { code: '1200', name: 'Receivables', amount: 10_000 },
      ],
      liabilities: [{ code: '2100', name: 'Payables', amount: 5_000 }],
      equity: [{ code: '3000', name: 'Capital', amount: 100_000 }],
      current_earnings: 13_000,
      total_assets: 118_000,
      total_liabilities: 5_000,
      total_equity: 113_000,
      balanced: true,
    });
  });

  it('link a line to its entries', async () => {
    const found = await tenant.admin.api.get(
      `${ENTRIES}?account=5000&from=2026-01-01&to=2026-06-30&state=posted`,
    );
    expect(found.json).to.have.length(2);
  });

  it('have lines that equal the sums of their entries', async () => {
    const books = await withBooks(world);
    const { api } = books.admin;
    const first = await posted(api, { date: '2026-02-01', lines: move('1200', '4000', 700) });
    await posted(api, { date: '2026-02-28', lines: move('1200', '1200', 55) });
    await posted(api, { date: '2026-02-10', currency: 'JPY', lines: move('1200', '4000', 9) });
    await posted(api, { date: '2026-01-31', lines: move('1200', '4000', 3) });
    await api.post(`${ENTRIES}/${first.id}/reverse`, { date: '2026-02-20' });
    await drafted(api, { date: '2026-02-15', lines: move('1200', '4000', 1_000) });
    await api.patch(`${ACCOUNTS}/1200`, { active: false, name: 'Renamed' });
    const range = 'from=2026-02-01&to=2026-02-28';
    const { accounts, currency } = (await api.get(`${REPORTS}/trial-balance?${range}`)).as(trialBalance);
    expect(accounts).to.have.length(2);
    for (const { code, debit, credit } of accounts) {
      const found = (await api.get(`${ENTRIES}?account=${code}&${range}`)).as(entry.array());
      const lines = found
        .filter((each) => each.number !== null && each.currency === currency)
        .flatMap((each) => each.lines)
        .filter((each) => each.account_code === code);
      expect(lines.reduce((sum, each) => sum + each.debit, 0)).to.equal(debit);
      expect(lines.reduce((sum, each) => sum + each.credit, 0)).to.equal(credit);
    }
  });

  it('count a reversed entry and its mirror on their own days', async () => {
    const books = await withBooks(world);
    const { api } = books.admin;
    const { id } = await posted(api, { date: '2026-01-10', lines: move('5000', '1000', 700) });
    await api.post(`${ENTRIES}/${id}/reverse`, { date: '2026-02-10' });
    const report = async (range: string) => (await api.get(`${REPORTS}/pnl?${range}`)).as(profitAndLoss);
    expect((await report('from=2026-01-01&to=2026-01-31')).net_income).to.equal(-700);
    expect((await report('from=2026-02-01&to=2026-02-28')).net_income).to.equal(700);
    const whole = await report('from=2026-01-01&to=2026-02-28');
    expect(whole.expenses).to.deep.equal([{ code: '5000', name: 'Rent', amount: 0 }]);
    const balance = (await api.get(`${REPORTS}/trial-balance?to=2026-12-31`)).as(trialBalance);
    expect(
      balance.accounts.map(({ debit, credit, closing_debit }) => [debit, credit, closing_debit]),
    ).to.deep.equal([
      [700, 700, 0],
      [700, 700, 0],
    ]);
  });

  it('cover one currency each', async () => {
    const books = await withBooks(world);
    await posted(books.admin.api, { currency: 'USD', lines: move('1000', '3000', 5) });
    const sheet = async (query: string) =>
      (await books.admin.api.get(`${REPORTS}/balance-sheet?as_of=2026-12-31${query}`)).as(balanceSheet);
    expect(await sheet('')).to.include({ currency: 'EUR', total_assets: 0 });
    expect(await sheet('&currency=USD')).to.include({ currency: 'USD', total_assets: 5 });
    for (const path of ['trial-balance?currency=usd', 'pnl?currency=x', 'balance-sheet?currency=']) {
      expect((await books.admin.api.get(`${REPORTS}/${path}`)).status, path).to.equal(400);
    }
  });

  it('are zero and balanced for an empty ledger', async () => {
    const books = await withBooks(world);
    const report = async (path: string) => books.admin.api.get(`${REPORTS}/${path}`);
    const balance = (await report('trial-balance')).as(trialBalance);
    expect(balance).to.deep.include({ accounts: [], balanced: true });
    expect((await report('pnl')).as(profitAndLoss).net_income).to.equal(0);
    expect((await report('balance-sheet')).as(balanceSheet)).to.include({ total_equity: 0, balanced: true });
  });

  it('show every answered posting and change of an account, however often they were read before', async () => {
    const books = await withBooks(world);
    const { api } = books.admin;
    const range = 'to=2026-12-31';
    for (let nth = 1; nth <= 5; nth += 1) {
      await posted(api, { lines: move('1000', '4000', 100) });
      await api.patch(`${ACCOUNTS}/1000`, { name: `Cash ${nth}` });
      for (let again = 0; again < 2; again += 1) {
        const balance = (await api.get(`${REPORTS}/trial-balance?${range}`)).as(trialBalance);
        expect(balance.totals.debit).to.equal(100 * nth);
        expect(balance.accounts[0]).to.include({ name: `Cash ${nth}`, debit: 100 * nth });
        const csv = (await api.get(`${REPORTS}/trial-balance.csv?${range}`)).text;
        expect(csv).to.include(`,Cash ${nth},`);
        const pnl = (await api.get(`${REPORTS}/pnl?from=2026-01-01&${range}`)).as(profitAndLoss);
        const sheet = (await api.get(`${REPORTS}/balance-sheet?as_of=2026-12-31`)).as(balanceSheet);
        expect([pnl.net_income, sheet.total_assets]).to.deep.equal([100 * nth, 100 * nth]);
      }
    }
  });

  it('end today in the tenant’s time zone by default, and profit and loss begins with the calendar year', async () => {
    const dayIn = (timeZone: string) => new Intl.DateTimeFormat('en-CA', { timeZone }).format(new Date());
    for (const timezone of ['Pacific/Kiritimati', 'Pacific/Pago_Pago', 'UTC']) {
      const books = await withBooks(world, []);
      await world.platform.patch(`/super/tenants/${books.id}`, { timezone });
      const report = async (path: string) => books.admin.api.get(`${REPORTS}/${path}`);
      const before = dayIn(timezone);
      const pnl = (await report('pnl')).as(profitAndLoss);
      const sheet = (await report('balance-sheet')).as(balanceSheet);
      const balance = (await report('trial-balance')).as(trialBalance);
      const days = [before, dayIn(timezone)];
      expect(days).to.include(pnl.to).and.to.include(sheet.as_of).and.to.include(balance.to);
      expect(pnl.from).to.equal(`${pnl.to.slice(0, 4)}-01-01`);
    }
  });

  it('refuse invalid days and ranges', async () => {
    for (const path of [
      'trial-balance?from=2026-02-30',
      'trial-balance?from=2026-02-02&to=2026-02-01',
      'trial-balance.csv?to=yesterday',
      'pnl?from=2026-02-02&to=2026-02-01',
      'pnl?to=2026',
      'balance-sheet?as_of=2027-02-29',
    ]) {
      expect((await get(path)).status, path).to.equal(400);
    }
  });

  it('stay exact beyond the largest safe integer', async () => {
    const books = await withBooks(world);
    for (let nth = 0; nth < 2; nth += 1) await posted(books.admin.api, { lines: move('1000', '4000', MAX) });
    const answer = await books.admin.api.get(`${REPORTS}/trial-balance`);
    expect(answer.text).to.contain(`"closing_debit":${2n * BigInt(MAX)},`);
    const csv = await books.admin.api.get(`${REPORTS}/trial-balance.csv`);
    expect(csv.text).to.contain(String(2n * BigInt(MAX)));
  });

  describe('as files', () => {
    it('list the trial balance', async () => {
      const answer = await get('trial-balance.csv?from=2026-02-01&to=2026-02-28');
      expect(answer.header('content-type')).to.equal('text/csv; charset=utf-8');
      expect(answer.header('content-disposition')).to.equal('attachment; filename=trial-balance.csv');
      expect(answer.text.split('\r\n')).to.deep.equal([
        'code,name,type,currency,opening_debit,opening_credit,debit,credit,closing_debit,closing_credit',
        '1000,Cash,Asset,EUR,100000,0,20000,12000,108000,0',
        '1200,Receivables,Asset,EUR,30000,0,0,20000,10000,0',
        '3000,Capital,Equity,EUR,0,100000,0,0,0,100000',
        '4000,Sales,Revenue,EUR,0,30000,0,0,0,30000',
        '5000,Rent,Expense,EUR,0,0,12000,0,12000,0',
        ',Total,,EUR,130000,130000,32000,32000,130000,130000',
        '',
      ]);
    });

    it('list filtered entries, without formulas', async () => {
      const books = await withBooks(world);
      const { api } = books.admin;
      await openedBefore(world, books, { code: '-1', name: '=cmd()' });
      const done = await posted(api, {
        memo: '+1, "quoted"\nand a line',
        lines: [
          { account_code: '-1', debit: 5, memo: '@x' },
          { account_code: '4000', credit: 5 },
        ],
      });
      await drafted(api, { date: '2026-04-01' });
      const answer = await api.get(`${ENTRIES}.csv?to=2026-03-31`);
      expect(answer.header('content-type')).to.equal('text/csv; charset=utf-8');
      const rows = answer.text.split('\r\n');
      expect(rows[0]).to.equal(
        'number,id,state,date,memo,currency,line_no,account_code,account_name,debit,credit,line_memo,source_kind,reversal_of,reversed_by,created_at,posted_at',
      );
      const memo = `"'+1, ""quoted""\nand a line"`;
      const first = `1,${done.id},posted,2026-03-15,${memo},EUR`;
      expect(rows[1]).to.equal(
        `${first},1,'-1,'=cmd(),5,0,'@x,manual,,,${done.created_at},${done.posted_at}`,
      );
      expect(rows[2]).to.equal(`${first},2,4000,Sales,0,5,,manual,,,${done.created_at},${done.posted_at}`);
      expect(rows).to.have.length(4);
      expect((await api.get(`${ENTRIES}.csv`)).text.split('\r\n')).to.have.length(6);
      expect((await api.get(`${ENTRIES}.csv?state=nonsense`)).status).to.equal(400);
    });

    it('list the journal as plain text, by number and without drafts', async () => {
      const books = await withBooks(world);
      const { api } = books.admin;
      await posted(api, {
        date: '2026-03-15',
        memo: 'A; sale: [2020-01-01]',
        lines: move('1000', '4000', 1234),
      });
      await posted(api, { date: '2026-01-15', currency: 'JPY', lines: move('1200', '4000', 5) });
      await drafted(api, {});
      const answer = await api.get(`${GL}/journal.hledger`);
      expect(answer.header('content-type')).to.equal('text/plain; charset=utf-8');
      expect(answer.text).to.equal(
        [
          'decimal-mark .',
          'commodity 1000.00 EUR',
          'commodity 1000. JPY',
          '',
          'account Assets:1000 Cash',
          'account Assets:1200 Receivables',
          'account Liabilities:2100 Payables',
          'account Equity:3000 Capital',
          'account Revenues:4000 Sales',
          'account Expenses:5000 Rent',
          '',
          '2026-03-15 * (1) A- sale- -2020-01-01-',
          '    Assets:1000 Cash  12.34 EUR',
          '    Revenues:4000 Sales  -12.34 EUR',
          '',
          '2026-01-15 * (2)',
          '    Assets:1200 Receivables  5 JPY',
          '    Revenues:4000 Sales  -5 JPY',
          '',
        ].join('\n'),
      );
    });

    it('are complete for any number of pages', async () => {
      const books = await withBooks(world);
      const { api } = books.admin;
      const many = 230;
      for (let nth = 0; nth < many; nth += 23) {
        await Promise.all(Array.from({ length: 23 }, () => posted(api, { lines: move('1000', '4000', 1) })));
      }
      const csv = (await api.get(`${ENTRIES}.csv`)).text.trimEnd().split('\r\n');
      expect(csv).to.have.length(1 + 2 * many);
      expect(new Set(csv.slice(1).map((row) => row.split(',')[0])).size).to.equal(many);
      const journal = (await api.get(`${GL}/journal.hledger`)).text;
      const numbers = [...journal.matchAll(/ \* \((\d+)\)/g)].map(([, number]) => Number(number));
      expect(numbers).to.deep.equal(Array.from({ length: many }, (_, nth) => nth + 1));
    }).timeout(60_000);
  });
});
