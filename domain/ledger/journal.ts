import { z } from 'zod';
import { DomainError, ERROR_CODES } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { folded, type StreamType } from '../core/stream-type.ts';
import { accountEvents, accountOf, type Chart, withAccount, withChanged, withOpened } from './account.ts';
import { type Line, type PostedLine, postedLine, source } from './content.ts';
import type { PostingAttempt } from './entry.ts';

/**
 * The journal of a tenant, stream `journal-main`: chart, lock, postings with all lines, gapless numbers. Its state
 * keeps only the latest answers to posting attempts, so its size does not depend on the number of entries (decision
 * 14).
 */

// Events

const posting = z.object({
  entry_id: z.string(),
  attempt_id: z.string(),
  number: z.number(),
  date: z.string(),
  memo: z.string(),
  currency: z.string(),
  lines: z.array(postedLine),
  /** Sum of the debits, equal to the sum of the credits. */
  total: z.number(),
  source,
  /** When the draft was made, RFC 3339. */
  drafted_at: z.string(),
});
export const EntryPosted = defineEvent('EntryPosted', posting);
/** Posts a mirror, which reverses its original. */
export const EntryReversed = defineEvent('EntryReversed', posting.extend({ reversal_of: z.string() }));
/** Final: this posting attempt can never be posted. */
export const PostingRefused = defineEvent(
  'PostingRefused',
  z.object({
    entry_id: z.string(),
    attempt_id: z.string(),
    code: z.enum(ERROR_CODES),
    message: z.string(),
    details: z.record(z.string(), z.json()).optional(),
  }),
);
export const BooksLocked = defineEvent(
  'BooksLocked',
  z.object({
    /** The last locked day: postings on this day or earlier are refused; null when no day is locked. */
    locked_through: z.string().nullable(),
  }),
);

export const journalEvents = [
  ...accountEvents,
  EntryPosted,
  EntryReversed,
  PostingRefused,
  BooksLocked,
] as const;
export type JournalEvent = EventOf<(typeof journalEvents)[number]>;
export type PostingEvent = Extract<JournalEvent, { type: 'EntryPosted' | 'EntryReversed' }>;
/** An event that answers one posting attempt. */
export type AnswerEvent = Extract<JournalEvent, { data: { attempt_id: string } }>;

export const isAnswer = <E extends { readonly type: string }>(event: E): event is E & AnswerEvent =>
  event.type === 'EntryPosted' || event.type === 'EntryReversed' || event.type === 'PostingRefused';

export const JOURNAL_ID = 'main';

// State

export interface Journal {
  readonly chart: Chart;
  readonly lockedThrough: string | null;
  /** Number of the latest posting. */
  readonly number: number;
  /** Revision of the latest event. */
  readonly revision: number;
  /** The latest answers to posting attempts, oldest first. */
  readonly recent: readonly { readonly attemptId: string; readonly revision: number }[];
  /** `recent` holds every answer after this revision. */
  readonly recentSince: number;
}

const RECENT = 256;

const answered = (state: Journal, attemptId: string): Journal => {
  const recent = [...state.recent, { attemptId, revision: state.revision }];
  const forgotten = recent.length > RECENT ? recent.shift() : undefined;
  return { ...state, recent, recentSince: forgotten?.revision ?? state.recentSince };
};

const used = (chart: Chart, lines: readonly PostedLine[]): Chart => {
  let marked = chart;
  for (const { account_code } of lines) {
    const account = accountOf(marked, account_code);
    if (account !== undefined && !account.used) marked = withAccount(marked, { ...account, used: true });
  }
  return marked;
};

const posted = (state: Journal, { lines, number, attempt_id }: PostingEvent['data']): Journal =>
  answered({ ...state, chart: used(state.chart, lines), number }, attempt_id);

const evolve = folded<Journal, JournalEvent>({
  AccountOpened: (state, data, { at }) => ({ ...state, chart: withOpened(state.chart, data, at) }),
  AccountChanged: (state, data, { at }) => ({ ...state, chart: withChanged(state.chart, data, at) }),
  EntryPosted: posted,
  EntryReversed: posted,
  PostingRefused: (state, { attempt_id }) => answered(state, attempt_id),
  BooksLocked: (state, { locked_through: lockedThrough }) => ({ ...state, lockedThrough }),
});

export const journalStream: StreamType<Journal, JournalEvent> = {
  category: 'journal',
  stateVersion: 2,
  initial: { chart: {}, lockedThrough: null, number: 0, revision: -1, recent: [], recentSince: -1 },
  evolve: (state, event, meta) => evolve({ ...state, revision: meta.revision }, event, meta),
};

// Decide

/** `forgotten`: the state cannot tell, because the answer may be older than all answers in `recent`. */
export type AnswerState = 'answered' | 'unanswered' | 'forgotten';

export const answerTo = (state: Journal, { id, journalRevision }: PostingAttempt): AnswerState => {
  if (state.recent.some((each) => each.attemptId === id && each.revision > journalRevision))
    return 'answered';
  return journalRevision >= state.recentSince ? 'unanswered' : 'forgotten';
};

/**
 * Checks the lines' accounts, and spells their codes as the chart does.
 * @param rules `mirror` allows inactive accounts, so that each posting can be reversed
 * @throws `unknown_account`, `account_inactive`
 */
export const resolveLines = <L extends { readonly account_code: string }>(
  chart: Chart,
  lines: readonly L[],
  rules: { readonly mirror: boolean } = { mirror: false },
): L[] =>
  lines.map((each, index) => {
    const account = accountOf(chart, each.account_code);
    const details = { line_no: index + 1, account_code: each.account_code };
    if (account === undefined) {
      throw new DomainError('unknown_account', `There is no account ${each.account_code}.`, details);
    }
    if (!account.active && !rules.mirror) {
      throw new DomainError('account_inactive', `The account ${account.code} is not active.`, details);
    }
    return { ...each, account_code: account.code };
  });

/** Adds each account's name to the account's first line. @param lines with codes in the chart's spelling */
export const withAccountNames = (chart: Chart, lines: readonly Line[]): PostedLine[] => {
  const named = new Set<string>();
  return lines.map((line) => {
    const { account_code: code } = line;
    if (named.has(code)) return line;
    named.add(code);
    return { ...line, account_name: accountOf(chart, code)?.name };
  });
};

/** An equal day changes nothing. */
export const lockPeriod = (state: Journal, lockedThrough: string | null): readonly JournalEvent[] =>
  state.lockedThrough === lockedThrough ? [] : decided(BooksLocked, { locked_through: lockedThrough });
