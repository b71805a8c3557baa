import { expect } from 'chai';
import { endWorld, startWorld, type World } from '../../support/world.ts';
import {
  ACCOUNTS,
  balanceSheet,
  drafted,
  ENTRIES,
  entry,
  GL,
  move,
  posted,
  profitAndLoss,
  REPORTS,
  trialBalance,
  withBooks,
} from './support.ts';

describe('The ledger under concurrent postings', function () {
  this.timeout(120_000);
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(endWorld);

  it('gives reports of one moment, and a journal with all accounts declared', async () => {
    const { admin } = await withBooks(world);
    const { api } = admin;
    let isOver = false;
    const post = async (who: number): Promise<void> => {
      for (let nth = 0; !isOver; nth += 1) {
        const code = `N${who}-${nth}`;
        // New accounts and postings are in different collections: a report must see both, or neither.
        if (nth % 3 === 0) await api.post(ACCOUNTS, { code, name: `New ${code}`, type: 'Asset' });
        const date = ['2026-02-10', '2026-01-15', '2026-03-15'][nth % 3];
        await posted(api, { date, lines: move(nth % 3 === 0 ? code : '1000', '4000', 100) });
      }
    };
    const read = async (): Promise<void> => {
      const range = 'from=2026-02-12&to=2026-03-31';
      for (let nth = 0; nth < 30; nth += 1) {
        const balance = (await api.get(`${REPORTS}/trial-balance?${range}`)).as(trialBalance);
        expect(balance.balanced, JSON.stringify(balance.totals)).to.equal(true);
        expect(balance.accounts.filter(({ debit, credit }) => debit < 0 || credit < 0)).to.deep.equal([]);
        const sheet = (await api.get(`${REPORTS}/balance-sheet?as_of=2026-03-31`)).as(balanceSheet);
        expect(sheet.balanced).to.equal(true);
        const pnl = (await api.get(`${REPORTS}/pnl?${range}`)).as(profitAndLoss);
        expect(pnl.net_income).to.be.at.least(0);
        if (nth % 6 > 0) continue;
        const journal = (await api.get(`${GL}/journal.hledger`)).text;
        const declared = new Set([...journal.matchAll(/^account (.+)$/gm)].map(([, name]) => name));
        const used = [...journal.matchAll(/^ {4}(.+?) {2}-?\d/gm)].map(([, name]) => name);
        expect(used.filter((name) => !declared.has(name))).to.deep.equal([]);
      }
    };
    const posting = [1, 2, 3, 4, 5, 6].map(post);
    const reading = [read(), read()];
    await Promise.allSettled(reading);
    isOver = true;
    await Promise.all([...reading, ...posting]);
  });

  it('lists large entries in pages by size, without loss', async () => {
    const { admin } = await withBooks(world);
    const memo = 'm'.repeat(300);
    const lines = Array.from({ length: 1000 }, (_, nth) =>
      nth < 999 ? { account_code: '1000', debit: 1, memo } : { account_code: '4000', credit: 999, memo },
    );
    const made: string[] = [];
    for (let nth = 0; nth < 8; nth += 1) made.push((await drafted(admin.api, { lines })).id);
    const sizes: number[] = [];
    const found: string[] = [];
    let path: string | undefined = `${ENTRIES}?limit=200`;
    while (path !== undefined) {
      const page = await admin.api.get(path);
      const entries = page.as(entry.array());
      sizes.push(page.text.length);
      found.push(...entries.map(({ id }) => id));
      path = /<([^>]+)>; rel="next"/.exec(page.header('link') ?? '')?.[1];
    }
    expect(found.sort()).to.deep.equal(made.sort());
    expect(Math.max(...sizes)).to.be.lessThan(4 * 1024 * 1024);
    const rows = (await admin.api.get(`${ENTRIES}.csv`)).text.trimEnd().split('\r\n');
    expect(rows).to.have.length(1 + 8 * 1000);
  });
});
