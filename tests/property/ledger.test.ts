import { expect } from 'chai';
import fc from 'fast-check';
import { DomainError } from '../../domain/core/errors.ts';
import type { Document } from '../../domain/core/projection.ts';
import { ACCOUNT_TYPES } from '../../domain/ledger/account.ts';
import type { PostingEvent } from '../../domain/ledger/journal.ts';
import { ledgerProjection } from '../../projections/ledger/ledger.ts';
import { entriesOf } from '../../projections/ledger/ledger-entries.ts';
import {
  CHART,
  fill,
  type LedgerNode,
  move,
  request,
  startLedger,
  TENANT,
} from '../application/ledger/support.ts';
import { testClock } from '../support/fakes.ts';
import { presentBalanceSheet, presentProfitAndLoss, presentTrialBalance } from '../support/ledger-reports.ts';
import { memoryReadModel } from '../support/memory-reader.ts';

const DAYS = [
  '2025-12-31',
  '2026-01-01',
  '2026-01-31',
  '2026-02-01',
  '2026-02-28',
  '2026-03-15',
  '2027-01-01',
];
/** `N1` exists only after an account was opened with it or renamed to it. */
const CODES = [...CHART.map(([code]) => code), 'N1'];
const CURRENCIES = ['EUR', 'USD'];

const day = fc.constantFrom(...DAYS);
const code = fc.constantFrom(...CODES);
const amount = fc.oneof(fc.integer({ min: 1, max: 1000 }), fc.constantFrom(1, Number.MAX_SAFE_INTEGER));

const lines = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.tuple(code, code, amount).map(([debit, credit, much]) => move(debit, credit, much)),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(code, code, code, fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 500 }))
      .map(([a, b, c, one, two]) => [
        { account_code: a, debit: one },
        { account_code: b, debit: two },
        { account_code: c, credit: one + two },
      ]),
  },
);

const step = fc.oneof(
  fc.record({
    kind: fc.constant('post' as const),
    date: day,
    lines,
    currency: fc.constantFrom(...CURRENCIES),
  }),
  fc.record({ kind: fc.constant('draft' as const), date: day, lines }),
  fc.record({ kind: fc.constant('change' as const), which: fc.nat(30), date: day }),
  fc.record({ kind: fc.constant('postOld' as const), which: fc.nat(30) }),
  fc.record({
    kind: fc.constant('reverse' as const),
    which: fc.nat(30),
    date: fc.option(day, { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('discard' as const), which: fc.nat(30) }),
  fc.record({ kind: fc.constant('lock' as const), through: fc.option(day) }),
  fc.record({
    kind: fc.constant('account' as const),
    code,
    active: fc.boolean(),
    name: fc.string({ minLength: 1 }),
    to: fc.option(fc.constantFrom(...CODES), { nil: undefined }),
    type: fc.option(fc.constantFrom(...ACCOUNT_TYPES), { nil: undefined }),
  }),
  fc.record({ kind: fc.constant('open' as const), code, type: fc.constantFrom(...ACCOUNT_TYPES) }),
  fc.record({ kind: fc.constant('time' as const), days: fc.nat(60) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** A refusal must come from a rule; any other error is a bug. */
const tried = async (action: Promise<unknown>): Promise<void> => {
  try {
    await action;
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
  }
};

/** Expected sums, directly from the postings. */
const oracle = (postings: readonly PostingEvent[], currency: string, within: (date: string) => boolean) => {
  const sums = new Map<string, { debit: bigint; credit: bigint }>();
  for (const { data } of postings) {
    if (data.currency !== currency || !within(data.date)) continue;
    for (const { account_code, debit, credit } of data.lines) {
      const before = sums.get(account_code) ?? { debit: 0n, credit: 0n };
      sums.set(account_code, { debit: before.debit + BigInt(debit), credit: before.credit + BigInt(credit) });
    }
  }
  return sums;
};

/** A ledger under random commands, with its read model. */
const play = async () => {
  const clock = testClock();
  const node: LedgerNode = startLedger({ clock });
  await fill(node);
  const model = memoryReadModel(ledgerProjection);
  const ids: string[] = [];
  const frozen = new Map<string, string>();
  let seen = 0;

  const run = async (given: Step): Promise<void> => {
    const { entries, posting, chart } = node;
    const id = 'which' in given ? (ids[given.which % Math.max(ids.length, 1)] ?? 'none') : '';
    switch (given.kind) {
      case 'draft':
      case 'post': {
        const currency = given.kind === 'post' ? given.currency : undefined;
        const made = await entries
          .draft(TENANT, { date: given.date, lines: given.lines, currency }, { kind: 'manual' }, request())
          .catch((error: unknown) => (error instanceof DomainError ? undefined : Promise.reject(error)));
        if (made === undefined) return;
        ids.push(made.draft.id);
        if (given.kind === 'post') await tried(posting.post(TENANT, made.draft.id, request()));
        return;
      }
      case 'change':
        return tried(entries.change(TENANT, id, { date: given.date }, request()));
      case 'postOld':
        return tried(posting.post(TENANT, id, request()));
      case 'reverse':
        return tried(
          posting.reverse(TENANT, id, { date: given.date }, request()).then(({ posting }) => {
            ids.push(posting.data.entry_id);
          }),
        );
      case 'discard':
        return tried(entries.discard(TENANT, id, request()));
      case 'lock':
        return tried(chart.lock(TENANT, given.through, request()));
      case 'account':
        return tried(
          chart.changeAccount(
            TENANT,
            given.code,
            { active: given.active, name: given.name, code: given.to, type: given.type },
            request(),
          ),
        );
      case 'open': {
        const { code: opened, type } = given;
        const account = { code: opened, name: 'Opened later', type, active: true };
        return tried(chart.openAccount(TENANT, account, request()));
      }
      case 'time':
        clock.advance(given.days * 86_400_000);
        return;
      default:
        return given satisfies never;
    }
  };

  const foldNews = async (): Promise<void> => {
    const all = await node.readAll();
    for (const event of all.slice(seen)) model.fold(event);
    seen = all.length;
  };

  const checkBooks = async (): Promise<void> => {
    const postings = await node.postingsOf();
    const number = postings.map(({ data }) => data.number);
    expect(number).to.deep.equal(number.map((_, nth) => nth + 1));
    const reversed = postings.flatMap((each) =>
      each.type === 'EntryReversed' ? [each.data.reversal_of] : [],
    );
    expect(new Set(reversed).size, 'each is reversed at most once').to.equal(reversed.length);
    const byId = new Map(postings.map((each) => [each.data.entry_id, each]));
    for (const each of postings) {
      if (each.type !== 'EntryReversed') continue;
      const sides = each.data.lines.map((line) => [line.account_code, line.credit, line.debit]);
      const original = byId.get(each.data.reversal_of);
      expect(sides, 'the mirror').to.deep.equal(
        original?.data.lines.map((line) => [line.account_code, line.debit, line.credit]),
      );
      expect(each.data.date >= (original?.data.date ?? ''), 'not before its original').to.equal(true);
    }
    for (const [id, doc] of model.documents('entries', TENANT)) {
      if (doc.state === 'draft') continue;
      const bytes = bytesOf(doc);
      expect(bytes, 'posted bytes').to.equal(frozen.get(id) ?? bytes);
      frozen.set(id, bytes);
      expect(doc.state).to.equal(reversed.includes(id) ? 'reversed' : 'posted');
    }
    expect([...frozen.keys()].sort()).to.deep.equal(postings.map(({ data }) => data.entry_id).sort());
  };

  const checkReports = async (from: string, to: string): Promise<void> => {
    const postings = await node.postingsOf();
    for (const currency of CURRENCIES) {
      const report = await presentTrialBalance(model.reader, TENANT, { currency, from, to });
      expect(report.balanced, 'debits equal credits').to.equal(true);
      const before = oracle(postings, currency, (date) => date < from);
      const within = oracle(postings, currency, (date) => date >= from && date <= to);
      const through = oracle(postings, currency, (date) => date <= to);
      expect(report.accounts.map(({ code: each }) => each)).to.deep.equal([...through.keys()].sort());
      for (const row of report.accounts) {
        const opening = before.get(row.code) ?? { debit: 0n, credit: 0n };
        const moved = within.get(row.code) ?? { debit: 0n, credit: 0n };
        expect(row.opening_debit - row.opening_credit).to.equal(opening.debit - opening.credit);
        expect([row.debit, row.credit]).to.deep.equal([moved.debit, moved.credit]);
        expect(await listedSums(row.code, currency, from, to), 'its entries').to.deep.equal(moved);
      }
      const sheet = await presentBalanceSheet(model.reader, TENANT, { currency, asOf: to });
      expect(sheet.balanced, 'the balance sheet').to.equal(true);
      const closing = new Map(
        report.accounts.map((row) => [row.code, row.closing_debit - row.closing_credit]),
      );
      for (const { code: each, amount: much } of sheet.assets) expect(much).to.equal(closing.get(each));
      for (const { code: each, amount: much } of [...sheet.liabilities, ...sheet.equity]) {
        expect(-much).to.equal(closing.get(each));
      }
      const pnl = await presentProfitAndLoss(model.reader, TENANT, { currency, from, to });
      const earlier = await presentBalanceSheet(model.reader, TENANT, { currency, asOf: dayBefore(from) });
      expect(pnl.net_income, 'net income').to.equal(sheet.current_earnings - earlier.current_earnings);
    }
  };

  /** Sums of the entries that a report's line links to. */
  const listedSums = async (account: string, currency: string, from: string, to: string) => {
    const page = { limit: 10_000, after: undefined };
    const { docs } = await entriesOf(model.reader, TENANT, { account, from, to }, page);
    const lines = docs
      .filter((each) => each.number !== null && each.currency === currency)
      .flatMap((each) => each.lines)
      .filter((each) => each.account_code === account);
    const sum = (side: 'debit' | 'credit') => lines.reduce((all, each) => all + BigInt(each[side]), 0n);
    return { debit: sum('debit'), credit: sum('credit') };
  };

  return { run, foldNews, checkBooks, checkReports, model, node };
};

const bytesOf = ({ state: _state, reversed_by: _by, facets: _facets, ...content }: Document): string =>
  JSON.stringify(content);

const dayBefore = (date: string): string =>
  new Date(Date.parse(`${date}T00:00:00Z`) - 86_400_000).toISOString().slice(0, 10);

describe('Any history of the ledger', () => {
  it('keeps every invariant of double entry after every step, in the journal and in the read model', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 5, maxLength: 40, size: 'max' }),
        day,
        day,
        async (steps, one, two) => {
          const game = await play();
          const [from = one, to = two] = [one, two].sort();
          for (const each of steps) {
            await game.run(each);
            await game.foldNews();
            await game.checkBooks();
            await game.checkReports(from, to);
          }
        },
      ),
      { numRuns: 40 },
    );
  }).timeout(120_000);
});
