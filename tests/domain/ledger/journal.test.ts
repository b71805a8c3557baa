import { expect } from 'chai';
import type { AccountType } from '../../../domain/ledger/account.ts';
import { accountOf, accountsIn, countOf } from '../../../domain/ledger/account.ts';
import { type Content, namedLines } from '../../../domain/ledger/content.ts';
import {
  answerTo,
  EntryPosted,
  type JournalEvent,
  journalStream,
  lockPeriod,
} from '../../../domain/ledger/journal.ts';
import { type AnswerPosting, answerPosting } from '../../../domain/ledger/posting.ts';
import { given, type Past } from '../../support/given.ts';

const opened = (code: string, type: AccountType = 'Asset', active = true): JournalEvent => ({
  type: 'AccountOpened',
  data: { account_id: `id-${code}`, code, name: `Name of ${code}`, type, active },
});
const CHART = [opened('1000'), opened('4000', 'Revenue'), opened('Old', 'Asset', false)];
const LINES = [
  { account_code: '1000', debit: 5, credit: 0 },
  { account_code: '4000', debit: 0, credit: 5, memo: 'm' },
];
const content = (more: Partial<Content> = {}): Content => ({
  date: '2026-03-15',
  memo: 'A sale',
  currency: 'EUR',
  lines: LINES,
  ...more,
});
const attempt = (id: string, journalRevision = -1) => ({ id, journalRevision });
const command = (attemptId: string, more: Partial<AnswerPosting> = {}): AnswerPosting => ({
  entryId: `entry-of-${attemptId}`,
  attempt: attempt(attemptId),
  content: content(),
  source: { kind: 'manual' },
  draftedAt: '2026-03-14T00:00:00.000Z',
  ...more,
});
const journalAfter = (...story: Past<JournalEvent>[]) => given(journalStream, ...CHART, ...story);
const answer = (state: typeof journalStream.initial, one: AnswerPosting): JournalEvent =>
  answerPosting(state, one)[0];

describe('The journal', () => {
  it('posts with the next number, current account names and the chart’s spelling of codes', () => {
    const one = answer(journalAfter().state, command('a', { content: content({ lines: LINES }) }));
    expect(one).to.deep.equal({
      type: 'EntryPosted',
      data: {
        entry_id: 'entry-of-a',
        attempt_id: 'a',
        number: 1,
        date: '2026-03-15',
        memo: 'A sale',
        currency: 'EUR',
        lines: [
          { ...LINES[0], account_name: 'Name of 1000' },
          { ...LINES[1], account_name: 'Name of 4000' },
        ],
        total: 5,
        source: { kind: 'manual' },
        drafted_at: '2026-03-14T00:00:00.000Z',
      },
    });
    const two = answer(journalAfter(one).state, command('b', { reversalOf: 'entry-of-a' }));
    expect(two.type).to.equal('EntryReversed');
    expect(two.data).to.deep.include({ number: 2, reversal_of: 'entry-of-a' });
  });

  it('names each account once, and reads older postings that name it on every line', () => {
    const lines = [
      ...LINES,
      { account_code: '1000', debit: 1, credit: 0 },
      { account_code: '4000', debit: 0, credit: 1 },
    ];
    const one = answer(journalAfter().state, command('a', { content: content({ lines }) }));
    if (one.type !== 'EntryPosted') throw new Error('it was refused');
    expect(one.data.lines.map(({ account_name }) => account_name)).to.deep.equal([
      'Name of 1000',
      'Name of 4000',
      undefined,
      undefined,
    ]);
    const named = namedLines(one.data.lines);
    expect(named).to.deep.equal(
      lines.map((line) => ({ ...line, account_name: `Name of ${line.account_code}` })),
    );
    const before = { ...one.data, lines: named };
    expect(EntryPosted.schema.parse(before)).to.deep.equal(before);
    expect(namedLines(before.lines)).to.deep.equal(named);
  });

  it('refuses a posting finally and uses no number', () => {
    const refusals: readonly [Partial<Content>, string][] = [
      [{ lines: [{ account_code: '1000', debit: 5, credit: 0 }] }, 'unbalanced'],
      [{ lines: LINES.map((line) => ({ ...line, account_code: 'nobody' })) }, 'unknown_account'],
      [{ lines: LINES.map((line) => ({ ...line, account_code: 'OLD' })) }, 'account_inactive'],
      [{ date: '2026-01-31' }, 'period_locked'],
    ];
    const locked = journalAfter({ type: 'BooksLocked', data: { locked_through: '2026-01-31' } });
    for (const [more, code] of refusals) {
      const refused = answer(locked.state, command('a', { content: content(more) }));
      expect(refused.type).to.equal('PostingRefused');
      expect(refused.data).to.include({ attempt_id: 'a', code });
      const next = given(journalStream, ...CHART, refused).state;
      expect(answer(next, command('b')).data).to.include({ number: 1 });
    }
  });

  it('allows a mirror on inactive accounts, but not in a locked period', () => {
    const lines = LINES.map((line) => ({ ...line, account_code: 'Old' }));
    const locked = journalAfter({ type: 'BooksLocked', data: { locked_through: '2026-01-31' } });
    const mirror = (date: string) =>
      answer(locked.state, command('m', { reversalOf: 'x', content: content({ lines, date }) })).type;
    expect(mirror('2026-02-01')).to.equal('EntryReversed');
    expect(mirror('2026-01-31')).to.equal('PostingRefused');
  });

  it('keeps the latest 256 answers and reports older attempts as forgotten', () => {
    const posted = Array.from({ length: 300 }, (_, nth): JournalEvent => {
      const one = answer(journalAfter().state, command(`a${nth}`));
      return nth % 3 === 0
        ? {
            type: 'PostingRefused',
            data: { entry_id: 'e', attempt_id: `a${nth}`, code: 'period_locked', message: 'm' },
          }
        : one;
    });
    const { state } = journalAfter(...posted);
    const first = CHART.length;
    expect(answerTo(state, attempt('a299', first - 1))).to.equal('answered');
    expect(answerTo(state, attempt('a44', first - 1))).to.equal('answered');
    expect(answerTo(state, attempt('a43', first - 1))).to.equal('forgotten');
    expect(answerTo(state, attempt('never', first - 1))).to.equal('forgotten');
    expect(answerTo(state, attempt('never', first + 42))).to.equal('forgotten');
    expect(answerTo(state, attempt('never', first + 43))).to.equal('unanswered');
    // An answer that came before an attempt is no answer to it.
    expect(answerTo(state, attempt('a299', first + 299))).to.equal('unanswered');
    expect(state.recent).to.have.length(256);
  });

  it('marks only accounts with posted lines as used', () => {
    const { state } = journalAfter(answer(journalAfter().state, command('a')));
    const used = accountsIn(state.chart).flatMap(({ code, used: is }) => (is ? [code] : []));
    expect(used.sort()).to.deep.equal(['1000', '4000']);
  });

  it('opens and changes 8,000 accounts in a time that is proportional to their number', () => {
    const changed = (count: number) => {
      const codes = Array.from({ length: count }, (_, nth) => `L${nth}`);
      const begun = process.cpuUsage();
      const { state } = given(journalStream, ...codes.map((code) => opened(code)));
      const renamed = codes.map((code): JournalEvent => {
        const account = { account_id: `id-${code}`, name: 'New', type: 'Asset', active: true } as const;
        return { type: 'AccountChanged', data: { ...account, code: `N${code}`, previous_code: code } };
      });
      const meta = { at: 1, revision: count };
      const { chart } = renamed.reduce((now, event) => journalStream.evolve(now, event, meta), state);
      const { user, system } = process.cpuUsage(begun);
      return { chart, time: user + system };
    };
    const { chart, time } = changed(8000);
    expect(countOf(chart)).to.equal(8000);
    expect(accountsIn(chart).every(({ name }) => name === 'New')).to.equal(true);
    expect(accountOf(chart, 'nl7999')?.code).to.equal('NL7999');
    expect(accountOf(chart, 'L7999')).to.equal(undefined);
    // Eight times the accounts: copying the chart for each change would take sixty-four times as long.
    const few = Math.min(...[1, 2, 3].map(() => changed(1000).time));
    expect(time / few).to.be.lessThan(32);
  }).timeout(60_000);

  it('is locked and unlocked; repeating it changes nothing', () => {
    journalAfter()
      .when((state) => lockPeriod(state, null))
      .givesNothing();
    const lock = { type: 'BooksLocked' as const, data: { locked_through: '2026-01-31' } };
    journalAfter()
      .when((state) => lockPeriod(state, '2026-01-31'))
      .gives(lock);
    journalAfter(lock)
      .when((state) => lockPeriod(state, '2026-01-31'))
      .givesNothing();
    journalAfter(lock)
      .when((state) => lockPeriod(state, null))
      .gives({ type: 'BooksLocked', data: { locked_through: null } });
  });
});
