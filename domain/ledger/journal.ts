import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { DomainError, ERROR_CODES } from '../errors.ts';
import { defineEvent, type EventMeta, type EventOf } from '../event.ts';
import { accountEvents, accountKey, accountOf, type Chart, evolveChart } from './account.ts';
import { type Content, type PostedLine, postedLine, requireBalance, source } from './content.ts';

/**
 * The books of a tenant: chart, lock, postings with all their lines, gapless numbers. The one stream `journal-main`
 * alone says what is posted. Its state stays small however many entries there are: of postings it remembers the last
 * few, so that no attempt is answered twice; an older answer is found in the stream itself.
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
  /** Of the debits, and so of the credits. */
  total: z.number(),
  source,
  /** When the draft was made, RFC 3339. */
  drafted_at: z.string(),
});
export const EntryPosted = defineEvent('EntryPosted', posting);
/** The mirror is in the books, and its original is reversed by it. */
export const EntryReversed = defineEvent('EntryReversed', posting.extend({ reversal_of: z.string() }));
/** The last word on an attempt: it is never posted, whoever still tries. */
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
    /** Nothing is posted on this day or before; null: no lock. */
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
type RefusalEvent = Extract<JournalEvent, { type: 'PostingRefused' }>;

export const JOURNAL_ID = 'main';

// State

export interface Journal {
  readonly chart: Chart;
  readonly lockedThrough: string | null;
  /** The number given last. */
  readonly number: number;
  /** Of all events so far. */
  readonly revision: number;
  /** The answers given last, oldest first. */
  readonly recent: readonly { readonly attemptId: string; readonly revision: number }[];
  /** Every answer after this revision is among the recent ones. */
  readonly recentSince: number;
}

const RECENT = 256;

const initial: Journal = {
  chart: {},
  lockedThrough: null,
  number: 0,
  revision: -1,
  recent: [],
  recentSince: -1,
};

const evolve = (state: Journal, event: JournalEvent, meta: EventMeta): Journal => {
  const next = { ...state, revision: meta.revision };
  switch (event.type) {
    case 'AccountOpened':
    case 'AccountChanged':
      return { ...next, chart: evolveChart(state.chart, event, meta.at) };
    case 'EntryPosted':
    case 'EntryReversed':
      return answered(
        { ...next, chart: used(state.chart, event.data.lines), number: event.data.number },
        event.data.attempt_id,
      );
    case 'PostingRefused':
      return answered(next, event.data.attempt_id);
    case 'BooksLocked':
      return { ...next, lockedThrough: event.data.locked_through };
    default:
      return event satisfies never;
  }
};

const answered = (state: Journal, attemptId: string): Journal => {
  const recent = [...state.recent, { attemptId, revision: state.revision }];
  const forgotten = recent.length > RECENT ? recent.shift() : undefined;
  return { ...state, recent, recentSince: forgotten?.revision ?? state.recentSince };
};

const used = (chart: Chart, lines: readonly PostedLine[]): Chart => {
  let marked: Record<string, Chart[string]> | undefined;
  for (const { account_code } of lines) {
    const key = accountKey(account_code);
    const account = (marked ?? chart)[key];
    if (account === undefined || account.used) continue;
    marked ??= { ...chart };
    marked[key] = { ...account, used: true };
  }
  return marked ?? chart;
};

export const journalDecider: Decider<Journal, JournalEvent> = {
  category: 'journal',
  stateVersion: 1,
  initial,
  evolve,
};

// Decide

/** What the journal has said to an attempt: at which revision, nothing yet, or longer ago than the state remembers. */
export type Answered = number | 'nothing' | 'forgotten';

/** @param since where the journal stood before the attempt began */
export const answerTo = (state: Journal, attemptId: string, since: number): Answered => {
  const found = state.recent.findLast((each) => each.attemptId === attemptId && each.revision > since);
  if (found !== undefined) return found.revision;
  return since >= state.recentSince ? 'nothing' : 'forgotten';
};

const locked = (date: string, lockedThrough: string): DomainError =>
  new DomainError('period_locked', `The books are locked through ${lockedThrough}.`, {
    locked_through: lockedThrough,
    date,
  });

/**
 * Lines with the chart's own codes and names.
 * @param rules `mirror`: inactive accounts will do, else a mistake could never be undone
 * @throws `unknown_account`, `account_inactive`
 */
export const resolveLines = <L extends { readonly account_code: string }>(
  chart: Chart,
  lines: readonly L[],
  rules: { readonly mirror: boolean } = { mirror: false },
): readonly (L & { account_code: string; account_name: string })[] =>
  lines.map((each, index) => {
    const account = accountOf(chart, each.account_code);
    const details = { line_no: index + 1, account_code: each.account_code };
    if (account === undefined) {
      throw new DomainError('unknown_account', `There is no account ${each.account_code}.`, details);
    }
    if (!account.active && !rules.mirror) {
      throw new DomainError('account_inactive', `The account ${account.code} is not active.`, details);
    }
    return { ...each, account_code: account.code, account_name: account.name };
  });

/** @throws `period_locked` */
export const requireOpenPeriod = (state: Journal, date: string): void => {
  if (state.lockedThrough !== null && date <= state.lockedThrough) throw locked(date, state.lockedThrough);
};

export interface PostEntry {
  readonly entryId: string;
  readonly attemptId: string;
  readonly content: Content;
  readonly source: PostingEvent['data']['source'];
  /** RFC 3339 */
  readonly draftedAt: string;
  /** Given for a mirror: the original's id. */
  readonly reversalOf?: string | undefined;
}

/**
 * What the books would take.
 * @throws `unbalanced`, `unknown_account`, `account_inactive`, `period_locked`
 */
export const judgePosting = (
  state: Journal,
  { content, reversalOf }: Pick<PostEntry, 'content' | 'reversalOf'>,
): readonly PostedLine[] => {
  const lines = resolveLines(state.chart, content.lines, { mirror: reversalOf !== undefined });
  requireBalance(content);
  requireOpenPeriod(state, content.date);
  return lines;
};

/** The one answer to an attempt: it is posted with the next number, or refused for good. */
export const answerPosting = (state: Journal, command: PostEntry): PostingEvent | RefusalEvent => {
  const { entryId, attemptId, content, reversalOf } = command;
  let lines: readonly PostedLine[];
  try {
    lines = judgePosting(state, command);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return refusePosting(command, error);
  }
  const data = {
    entry_id: entryId,
    attempt_id: attemptId,
    number: state.number + 1,
    date: content.date,
    memo: content.memo,
    currency: content.currency,
    lines: [...lines],
    total: lines.reduce((sum, each) => sum + each.debit, 0),
    source: command.source,
    drafted_at: command.draftedAt,
  };
  return reversalOf === undefined
    ? { type: 'EntryPosted', data }
    : { type: 'EntryReversed', data: { ...data, reversal_of: reversalOf } };
};

export const refusePosting = (
  { entryId, attemptId }: Pick<PostEntry, 'entryId' | 'attemptId'>,
  { code, message, details }: Pick<DomainError, 'code' | 'message' | 'details'>,
): RefusalEvent => ({
  type: 'PostingRefused',
  data: {
    entry_id: entryId,
    attempt_id: attemptId,
    code,
    message,
    // Details of refusals are texts, numbers and null: they are JSON.
    ...(details === undefined ? {} : { details: details as Record<string, string | number | null> }),
  },
});

/** Nothing when it is so already. */
export const lockBooks = (state: Journal, lockedThrough: string | null): readonly JournalEvent[] =>
  state.lockedThrough === lockedThrough
    ? []
    : [{ type: 'BooksLocked', data: { locked_through: lockedThrough } }];
