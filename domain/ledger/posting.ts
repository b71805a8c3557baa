import { DomainError, notFound, violated } from '../core/errors.ts';
import { decided, type EventOf } from '../core/event.ts';
import { iso } from '../core/projection.ts';
import { type Content, type EntryOrigin, type Line, mirrored, requireBalance } from './content.ts';
import {
  draftEntry,
  type Entry,
  type EntryEvent,
  type EntryInPosting,
  type EntryInReversal,
  EntryMirrorPrepared,
  EntryPostingSettled,
  EntryPostingStarted,
  EntryReversalAbandoned,
  EntryReversalSettled,
  EntryReversalStarted,
  immutable,
  isInProgress,
  type NewEntry,
  type PostedEntry,
  type PostingAttempt,
  PostingInProgress,
  requireDraft,
} from './entry.ts';
import {
  type AnswerEvent,
  EntryPosted,
  EntryReversed,
  type Journal,
  type PostingEvent,
  PostingRefused,
  resolveLines,
  withAccountNames,
} from './journal.ts';

/**
 * Decisions of posting and reversing, in the order of the process (decision 14): claim the entry's stream, get the
 * journal's answer, close the entry's stream.
 */

// Commands

export interface ReverseEntry {
  readonly mirrorId: string;
  /** Default: today, or the original's date if that date is later. */
  readonly date?: string | undefined;
  readonly memo?: string | undefined;
  /** The present day in the tenant's time zone. */
  readonly today: string;
}

/** Asks the journal to answer a posting attempt. */
export interface AnswerPosting {
  readonly entryId: string;
  readonly attempt: PostingAttempt;
  readonly content: Content;
  readonly source: EntryOrigin;
  /** RFC 3339 */
  readonly draftedAt: string;
  /** Mirrors only: the original's id. */
  readonly reversalOf?: string | undefined;
}

// Claim: decided on the entry's stream

/** @throws the errors of {@link requireDraft}; `unbalanced` */
export const startPosting = (state: Entry, attempt: PostingAttempt): readonly EntryEvent[] => {
  const { id, content } = requireDraft(state);
  requireBalance(content);
  return decided(EntryPostingStarted, {
    entry_id: id,
    attempt_id: attempt.id,
    journal_revision: attempt.journalRevision,
    discards_if_refused: attempt.discardsIfRefused,
  });
};

/**
 * Drafts the entry unless it is already a draft, and starts its posting; a refusal discards the draft.
 * @throws `immutable`, {@link PostingInProgress}, `unbalanced`, `payload_too_large`
 */
export const startPostingNew = (
  state: Entry,
  draft: NewEntry,
  attempt: PostingAttempt,
): readonly EntryEvent[] => {
  const drafted = draftEntry(state, { ...draft, redraft: true });
  const toPost: Entry = drafted.length === 0 ? state : { status: 'draft', ...draft, createdAt: 0 };
  return [...drafted, ...startPosting(toPost, { ...attempt, discardsIfRefused: true })];
};

/** Discards a draft that no user asked for and that the journal would refuse; no events if there is no draft. */
export const discardRefusedDraft = (state: Entry): readonly EntryEvent[] =>
  state.status === 'draft' ? [refusedDraftDiscarded(state.id)] : [];

/**
 * @throws `not_found`, `immutable`, {@link PostingInProgress}; `constraint_violated` for a mirror dated before its
 * original
 */
export const reverseEntry = (
  state: Entry,
  command: ReverseEntry,
  journalRevision: number,
): readonly [ReversalStarted] => {
  const original = requireReversible(state);
  const { mirrorId, today, memo = `Reversal of ${original.number}` } = command;
  // biome-ignore lint/complexity/useMathMinMax: dates are texts
  const date = command.date ?? (today < original.date ? original.date : today);
  if (date < original.date) {
    throw violated(
      'date',
      'before_original',
      `A reversal must not be dated before the original entry, ${original.date}.`,
    );
  }
  const attempt = { entry_id: original.id, attempt_id: mirrorId, journal_revision: journalRevision };
  return decided(EntryReversalStarted, { ...attempt, mirror_id: mirrorId, date, memo });
};

/** The first event of the mirror's stream; no events if the stream has one. */
export const prepareMirror = (
  mirror: Entry,
  { id, mirror: { id: mirrorId } }: EntryInReversal,
): readonly EntryEvent[] =>
  mirror.status === 'none' ? decided(EntryMirrorPrepared, { entry_id: mirrorId, reversal_of: id }) : [];

type ReversalStarted = EventOf<typeof EntryReversalStarted>;

const refusedDraftDiscarded = (id: string): EntryEvent => ({
  type: 'EntryDraftDiscarded',
  data: { entry_id: id, refused: true },
});

const requireReversible = (state: Entry): PostedEntry => {
  switch (state.status) {
    case 'posted':
      return state;
    case 'none':
    case 'discarded':
      throw notFound();
    case 'posting':
    case 'reversing':
      throw new PostingInProgress();
    case 'draft':
      throw immutable('A draft cannot be reversed: change or discard it.');
    case 'reversed':
      throw immutable('The entry is already reversed.');
    case 'mirror':
      throw immutable('A mirror entry cannot be reversed.');
    default:
      return state satisfies never;
  }
};

// Answer: decided on the journal's stream

export const postingCommand = (entry: EntryInPosting): AnswerPosting => {
  const { id: entryId, attempt, content, source, createdAt } = entry;
  return { entryId, attempt, content, source, draftedAt: iso(createdAt) };
};

/** The command for a claimed reversal. @param startedAt ms */
export const reversalCommand = (
  { id, attempt, mirror }: EntryInReversal,
  original: PostingEvent['data'],
  startedAt: number,
): AnswerPosting => ({
  entryId: mirror.id,
  attempt,
  content: mirrorContent(original, mirror),
  source: { kind: 'reversal', id },
  draftedAt: iso(startedAt),
  reversalOf: id,
});

export const mirrorContent = (
  { currency, lines }: PostingEvent['data'],
  { date, memo }: Pick<Content, 'date' | 'memo'>,
): Content => ({ date, memo, currency, lines: mirrored(lines) });

/**
 * Lines as the journal would post them now, without the accounts' names.
 * @throws `unbalanced`, `unknown_account`, `account_inactive`, `period_locked`
 */
export const checkPosting = (
  journal: Journal,
  { content, reversalOf }: Pick<AnswerPosting, 'content' | 'reversalOf'>,
): readonly Line[] => {
  const lines = resolveLines(journal.chart, content.lines, { mirror: reversalOf !== undefined });
  requireBalance(content);
  requireOpenPeriod(journal, content.date);
  return lines;
};

const requireOpenPeriod = ({ lockedThrough }: Journal, date: string): void => {
  if (lockedThrough === null || date > lockedThrough) return;
  throw new DomainError('period_locked', `The ledger is locked through ${lockedThrough}.`, {
    locked_through: lockedThrough,
    date,
  });
};

/** Gives the final answer to a posting attempt: posts the entry with the next number, or refuses it. */
export const answerPosting = (journal: Journal, command: AnswerPosting): readonly [AnswerEvent] => {
  const { entryId, attempt, content, reversalOf } = command;
  let lines: readonly Line[];
  try {
    lines = checkPosting(journal, command);
  } catch (error) {
    if (!(error instanceof DomainError)) throw error;
    return refusePosting(command, error);
  }
  const data = {
    entry_id: entryId,
    attempt_id: attempt.id,
    number: journal.number + 1,
    date: content.date,
    memo: content.memo,
    currency: content.currency,
    lines: withAccountNames(journal.chart, lines),
    total: lines.reduce((sum, each) => sum + each.debit, 0),
    source: command.source,
    drafted_at: command.draftedAt,
  };
  return reversalOf === undefined
    ? decided(EntryPosted, data)
    : decided(EntryReversed, { ...data, reversal_of: reversalOf });
};

export const refusePosting = (
  { entryId, attempt }: Pick<AnswerPosting, 'entryId' | 'attempt'>,
  { code, message, details }: Pick<DomainError, 'code' | 'message' | 'details'>,
): readonly [AnswerEvent] =>
  decided(PostingRefused, {
    entry_id: entryId,
    attempt_id: attempt.id,
    code,
    message,
    // Details of refusals hold only texts, numbers and null.
    details: details as Record<string, string | number | null> | undefined,
  });

// Close: decided on the entry's stream

/**
 * No events when the attempt is already closed. One append holds all events, so that a crash leaves no draft that
 * should be discarded.
 */
export const closePosting = (
  state: Entry,
  attemptId: string,
  answer: AnswerEvent & { readonly revision: number },
): readonly EntryEvent[] => {
  if (!isInProgress(state) || state.attempt.id !== attemptId) return [];
  const ended = { entry_id: state.id, attempt_id: attemptId };
  const { revision } = answer;
  if (answer.type === 'PostingRefused') {
    if (state.status === 'reversing') return decided(EntryReversalAbandoned, ended);
    const abandoned: EntryEvent = { type: 'EntryPostingAbandoned', data: ended };
    return state.attempt.discardsIfRefused ? [abandoned, refusedDraftDiscarded(state.id)] : [abandoned];
  }
  return state.status === 'posting'
    ? decided(EntryPostingSettled, { ...ended, number: answer.data.number, revision })
    : decided(EntryReversalSettled, { ...ended, mirror_id: state.mirror.id, revision });
};
