import { expect } from 'chai';
import fc from 'fast-check';
import { ACCOUNT_TYPES } from '../../../domain/ledger/account.ts';
import { hledgerAccount, hledgerEntry, hledgerPreamble } from '../../../domain/ledger/hledger.ts';
import type { JournalEvent } from '../../../domain/ledger/journal.ts';
import { majorText } from '../../../domain/ledger/money.ts';
import { ledgerProjection, wholeChart } from '../../../projections/ledger/ledger.ts';
import { currenciesOf } from '../../../projections/ledger/ledger-balances.ts';
import { lastNumber, postedEntries } from '../../../projections/ledger/ledger-entries.ts';
import { BEGINNING } from '../../support/given.ts';
import { hledgerBalances, hledgerVersion } from '../../support/hledger.ts';
import { presentTrialBalance } from '../../support/ledger-reports.ts';
import { memoryReadModel } from '../../support/memory-reader.ts';

const TENANT = 'acme';

/** Names and memos that contain journal syntax. */
const NASTY = [
  'Cash',
  'two  spaces ; a comment',
  'Assets:Sub:account',
  '(virtual)',
  '[balanced virtual]',
  'date:2020-01-01',
  '[2020-01-01]',
  '* cleared',
  '= 100 USD',
  '@ 2 EUR',
  'a\nb\tc\r\nd',
  '"quoted" | note',
  'Größe 日本 \u{1f600}',
  'x\u00a0\u2003y\u2028z\u200b',
];
const CURRENCIES = ['EUR', 'JPY', 'KWD', 'CLF'];
const TYPES = ACCOUNT_TYPES;

interface Move {
  readonly day: number;
  readonly debit: number;
  readonly credit: number;
  readonly amount: number;
  readonly currency: string;
  readonly memo: string;
}

const move: fc.Arbitrary<Move> = fc.record({
  day: fc.nat(364),
  debit: fc.nat(NASTY.length - 1),
  credit: fc.nat(NASTY.length - 1),
  amount: fc.oneof(fc.integer({ min: 1, max: 100_000 }), fc.constantFrom(1, 9_007_199_254_740_991)),
  currency: fc.constantFrom(...CURRENCIES),
  memo: fc.oneof(fc.constantFrom('', ...NASTY), fc.string({ unit: 'grapheme', maxLength: 20 })),
});

const codeOf = (nth: number): string => `${nth % 2 === 0 ? 'a' : 'B'}.${nth}`;
const dateOf = (day: number): string => new Date(Date.UTC(2026, 0, 1 + day)).toISOString().slice(0, 10);

/** The balances after these moves of a year, from the read model, and the exported journal. */
const balancesOf = async (moves: readonly Move[]) => {
  const model = memoryReadModel(ledgerProjection);
  let revision = -1;
  const tell = (event: JournalEvent): void => {
    revision += 1;
    const meta = {
      id: `e${revision}`,
      tenantId: TENANT,
      stream: 'acme.journal-main',
      actor: { kind: 'user', id: 'ann' },
      impersonatedBy: undefined,
      position: String(revision).padStart(16, '0'),
    };
    model.fold({ ...event, ...meta, revision, at: BEGINNING + revision });
  };
  NASTY.forEach((name, nth) => {
    const type = TYPES[nth % TYPES.length] ?? 'Asset';
    tell({
      type: 'AccountOpened',
      data: { account_id: `id-${nth}`, code: codeOf(nth), name, type, active: true },
    });
  });
  moves.forEach(({ day, debit, credit, amount, currency, memo }, nth) => {
    const line = (account: number, sides: { debit: number; credit: number }) => ({
      account_code: codeOf(account),
      account_name: 'as it was',
      ...sides,
      memo,
    });
    tell({
      type: 'EntryPosted',
      data: {
        entry_id: `entry-${nth}`,
        attempt_id: `attempt-${nth}`,
        number: nth + 1,
        date: dateOf(day),
        memo,
        currency,
        lines: [line(debit, { debit: amount, credit: 0 }), line(credit, { debit: 0, credit: amount })],
        total: amount,
        source: { kind: 'manual' },
        drafted_at: '2026-01-01T00:00:00.000Z',
      },
    });
  });
  const chart = await wholeChart(model.reader, TENANT);
  const names = new Map(chart.map((account) => [account.code, hledgerAccount(account)]));
  const entries = await postedEntries(model.reader, TENANT, await lastNumber(model.reader, TENANT), {
    limit: 10_000,
    after: undefined,
  });
  const text =
    hledgerPreamble(chart, await currenciesOf(model.reader, TENANT)) +
    entries.docs
      .map((entry) =>
        hledgerEntry({ ...entry, number: entry.number ?? 0 }, (code) => names.get(code) ?? code),
      )
      .join('');
  const balances = async (to: string): Promise<ReadonlyMap<string, string>> => {
    const found = new Map<string, string>();
    for (const currency of CURRENCIES) {
      const { accounts } = await presentTrialBalance(model.reader, TENANT, { currency, from: undefined, to });
      for (const { code, closing_debit, closing_credit } of accounts) {
        const net = closing_debit - closing_credit;
        if (net !== 0n) found.set(`${names.get(code)} ${currency}`, majorText(net, currency));
      }
    }
    return found;
  };
  return { text, names, balances };
};

describe('The exported journal', () => {
  it('has one hledger account per account, and no text can add others', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(move, { maxLength: 30 }), async (moves) => {
        const { text, names } = await balancesOf(moves);
        expect(new Set(names.values()).size).to.equal(NASTY.length);
        const rows = text.split('\n');
        const heads = rows.filter((row) => /^\d/.test(row));
        expect(heads).to.have.length(moves.length);
        const postings = rows.filter((row) => row.startsWith('    '));
        expect(postings).to.have.length(2 * moves.length);
        const known = new Set(names.values());
        for (const row of postings) {
          const [account = '', rest = ''] = row.trimStart().split(/ {2}(.*)/s);
          expect(known.has(account), row).to.equal(true);
          expect(rest).to.match(/^-?\d+(\.\d+)? (EUR|JPY|KWD|CLF)( {2}; [^;:[\]]+)?$/);
        }
        const others = rows.filter(
          (row) => row !== '' && !/^(\d| {4}|account |commodity |decimal-mark )/.test(row),
        );
        expect(others).to.deep.equal([]);
      }),
    );
  });

  it('writes amounts exactly, with the decimal places of the currency', () => {
    const cases: readonly (readonly [bigint, string, string])[] = [
      [1n, 'EUR', '0.01'],
      [-1n, 'EUR', '-0.01'],
      [100n, 'USD', '1.00'],
      [5n, 'JPY', '5'],
      [-1234n, 'KWD', '-1.234'],
      [1n, 'CLF', '0.0001'],
      [0n, 'EUR', '0.00'],
      [9_007_199_254_740_991n, 'EUR', '90071992547409.91'],
    ];
    for (const [minor, currency, text] of cases) expect(majorText(minor, currency)).to.equal(text);
  });

  if (hledgerVersion() === undefined) {
    it('gives hledger the same balances: skipped, hledger is not installed', function () {
      this.skip();
    });
  } else {
    it('gives hledger the same balances', async () => {
      for (const moves of fc.sample(fc.array(move, { minLength: 200, maxLength: 400 }), 5)) {
        const { text, balances } = await balancesOf(moves);
        for (const to of ['2026-06-30', '2026-12-31']) {
          const read = hledgerBalances(text, to);
          expect(read.size).to.be.greaterThan(20);
          expect(new Map([...read].sort())).to.deep.equal(new Map([...(await balances(to))].sort()));
        }
      }
    }).timeout(120_000);
  }
});
