import { z } from 'zod';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type Changes, changedMembers, folded, type StreamType } from '../core/stream-type.ts';
import { type Content, content, type EntryOrigin, requireSize, source } from './content.ts';

/**
 * The stream of one entry: its draft, and its claims for posting or reversal. Only the journal says whether an entry
 * is posted (decision 14).
 */

// Events

const draft = content.extend({ entry_id: z.string(), source });
const ended = z.object({ entry_id: z.string(), attempt_id: z.string() });
const started = ended.extend({
  /** The journal's revision before the attempt (-1: empty journal); the journal's answer has a later revision. */
  journal_revision: z.number(),
});

/** Also appended after a draft of the same id was discarded. */
export const EntryDrafted = defineEvent('EntryDrafted', draft);
/** Holds the whole draft after the change. */
export const EntryDraftChanged = defineEvent(
  'EntryDraftChanged',
  draft.extend({
    /** RFC 3339 */
    drafted_at: z.string(),
  }),
);
export const EntryDraftDiscarded = defineEvent(
  'EntryDraftDiscarded',
  z.object({
    entry_id: z.string(),
    /** Set when a refused posting discarded the draft: the entry can be drafted again. */
    refused: z.literal(true).optional(),
  }),
);

/** Claims the draft: it cannot change until the journal has answered. */
export const EntryPostingStarted = defineEvent(
  'EntryPostingStarted',
  started.extend({
    /** A refusal also discards the draft, because no user asked for a draft. */
    discards_if_refused: z.literal(true).optional(),
  }),
);
/** The journal refused the posting: the entry is a draft again, or discarded by the next event. */
export const EntryPostingAbandoned = defineEvent('EntryPostingAbandoned', ended);
export const EntryPostingSettled = defineEvent(
  'EntryPostingSettled',
  ended.extend({
    number: z.number(),
    /** Revision of the posting in the journal. */
    revision: z.number(),
  }),
);
/** Claims the posted entry: no other reversal starts until the journal has answered. */
export const EntryReversalStarted = defineEvent(
  'EntryReversalStarted',
  started.extend({ mirror_id: z.string(), date: z.string(), memo: z.string() }),
);
/** The journal refused the mirror: the entry stays posted. */
export const EntryReversalAbandoned = defineEvent('EntryReversalAbandoned', ended);
export const EntryReversalSettled = defineEvent(
  'EntryReversalSettled',
  ended.extend({ mirror_id: z.string(), revision: z.number() }),
);
/** First event of a mirror's stream, appended before the journal has the mirror. No command changes the stream. */
export const EntryMirrorPrepared = defineEvent(
  'EntryMirrorPrepared',
  z.object({ entry_id: z.string(), reversal_of: z.string() }),
);

export const entryEvents = [
  EntryDrafted,
  EntryDraftChanged,
  EntryDraftDiscarded,
  EntryPostingStarted,
  EntryPostingAbandoned,
  EntryPostingSettled,
  EntryReversalStarted,
  EntryReversalAbandoned,
  EntryReversalSettled,
  EntryMirrorPrepared,
] as const;
export type EntryEvent = EventOf<(typeof entryEvents)[number]>;
/** An event that starts a posting attempt. */
export type StartEvent = Extract<EntryEvent, { data: { journal_revision: number } }>;

export const startsAttempt = <E extends EntryEvent>(event: E): event is E & StartEvent =>
  event.type === 'EntryPostingStarted' || event.type === 'EntryReversalStarted';

// State

export interface PostingAttempt {
  readonly id: string;
  /** Revision of the journal before the attempt. */
  readonly journalRevision: number;
  /** A refusal also discards the draft. */
  readonly discardsIfRefused?: true | undefined;
}

/** An entry to draft. */
export interface NewEntry {
  readonly id: string;
  readonly content: Content;
  readonly source: EntryOrigin;
}
interface Drafted extends NewEntry {
  /** ms */
  readonly createdAt: number;
}
export interface Draft extends Drafted {
  readonly status: 'draft';
}
export interface EntryInPosting extends Drafted {
  readonly status: 'posting';
  readonly attempt: PostingAttempt;
}
interface InJournal {
  readonly id: string;
  readonly number: number;
  readonly date: string;
  /** Revision of the entry's posting event in the journal; that event holds the lines. */
  readonly revision: number;
}
export interface PostedEntry extends InJournal {
  readonly status: 'posted';
}
export interface EntryInReversal extends InJournal {
  readonly status: 'reversing';
  readonly attempt: PostingAttempt;
  readonly mirror: { readonly id: string; readonly date: string; readonly memo: string };
}
export interface ReversedEntry extends InJournal {
  readonly status: 'reversed';
  readonly mirror: { readonly id: string; readonly revision: number };
}
/** A posting or reversal whose answer is not in this stream yet. */
export type OpenAttempt = EntryInPosting | EntryInReversal;
export type Entry =
  | { readonly status: 'none' }
  | { readonly status: 'discarded'; readonly refused: boolean }
  | Draft
  | EntryInPosting
  | PostedEntry
  | EntryInReversal
  | ReversedEntry
  | { readonly status: 'mirror'; readonly id: string; readonly reversalOf: string };

const contentOf = ({ date, memo, currency, lines }: Content): Content => ({ date, memo, currency, lines });

export const attemptOf = (
  data: z.output<typeof EntryPostingStarted.schema | typeof started>,
): PostingAttempt => ({
  id: data.attempt_id,
  journalRevision: data.journal_revision,
  ...('discards_if_refused' in data && { discardsIfRefused: true }),
});

export const entryStream: StreamType<Entry, EntryEvent> = {
  category: 'entry',
  stateVersion: 2,
  initial: { status: 'none' },
  evolve: folded({
    EntryDrafted: (_state, { entry_id: id, source, ...data }, { at }) => ({
      status: 'draft',
      id,
      content: contentOf(data),
      source,
      createdAt: at,
    }),
    EntryDraftChanged: (state, data) =>
      state.status === 'draft' ? { ...state, content: contentOf(data) } : state,
    EntryDraftDiscarded: (_state, { refused }) => ({ status: 'discarded', refused: refused === true }),
    EntryPostingStarted: (state, data) =>
      state.status === 'draft' ? { ...state, status: 'posting', attempt: attemptOf(data) } : state,
    EntryPostingAbandoned: (state) => {
      if (state.status !== 'posting') return state;
      const { attempt: _attempt, ...draft } = state;
      return { ...draft, status: 'draft' };
    },
    EntryPostingSettled: (state, { number, revision }) => {
      if (state.status !== 'posting') return state;
      return { status: 'posted', id: state.id, number, revision, date: state.content.date };
    },
    EntryReversalStarted: (state, data) => {
      if (state.status !== 'posted') return state;
      const { mirror_id: id, date, memo } = data;
      return { ...state, status: 'reversing', attempt: attemptOf(data), mirror: { id, date, memo } };
    },
    EntryReversalAbandoned: (state) => {
      if (state.status !== 'reversing') return state;
      const { attempt: _attempt, mirror: _mirror, ...posted } = state;
      return { ...posted, status: 'posted' };
    },
    EntryReversalSettled: (state, { mirror_id: id, revision }) => {
      if (state.status !== 'reversing') return state;
      const { attempt: _attempt, ...posted } = state;
      return { ...posted, status: 'reversed', mirror: { id, revision } };
    },
    EntryMirrorPrepared: (_state, { entry_id: id, reversal_of: reversalOf }) => ({
      status: 'mirror',
      id,
      reversalOf,
    }),
  }),
};

// Commands

interface DraftEntry extends NewEntry {
  /** Also drafts an entry that a person has discarded. */
  readonly redraft?: boolean | undefined;
}

// Decide

export const immutable = (message = 'The entry is posted and cannot be changed.'): DomainError =>
  new DomainError('immutable', message);

/** Thrown while an attempt is open or the loaded entry is outdated: callers complete the attempt, then try again. */
export class PostingInProgress extends Error {
  override readonly name = 'PostingInProgress';
}

/** @throws `not_found`, `immutable`, {@link PostingInProgress} */
export const requireDraft = (state: Entry): Draft => {
  switch (state.status) {
    case 'draft':
      return state;
    case 'none':
    case 'discarded':
      throw notFound();
    case 'posting':
      throw new PostingInProgress();
    case 'posted':
    case 'reversing':
    case 'reversed':
    case 'mirror':
      throw immutable();
    default:
      return state satisfies never;
  }
};

export const isInProgress = (state: Entry): state is OpenAttempt =>
  state.status === 'posting' || state.status === 'reversing';

/** Whether the entry can be drafted; after a person discarded the draft, only with `redraft`. */
export const isVacant = (state: Entry, redraft = false): boolean =>
  state.status === 'none' || (state.status === 'discarded' && (redraft || state.refused));

/** Whether this stream knows that the journal has posted the entry. */
export const isPosted = ({ status }: Entry): boolean =>
  status === 'posted' || status === 'reversing' || status === 'reversed';

/** No events when the entry is not vacant. @throws `payload_too_large` */
export const draftEntry = (state: Entry, command: DraftEntry): readonly EntryEvent[] => {
  const { id, content: drafted, source: from, redraft } = command;
  if (!isVacant(state, redraft)) return [];
  requireSize(drafted);
  return decided(EntryDrafted, { entry_id: id, ...contentOf(drafted), source: from });
};

/** Equal content changes nothing. @throws the errors of {@link requireDraft}; `payload_too_large` */
export const changeDraft = (state: Entry, command: Changes<Content>): readonly EntryEvent[] => {
  const { id, content: before, source: from, createdAt } = requireDraft(state);
  const changed = changedMembers(before, command);
  if (Object.keys(changed).length === 0) return [];
  const after = { ...before, ...changed };
  requireSize(after);
  return decided(EntryDraftChanged, {
    entry_id: id,
    ...after,
    source: from,
    drafted_at: new Date(createdAt).toISOString(),
  });
};

/** @throws the errors of {@link requireDraft} */
export const discardDraft = (state: Entry): readonly EntryEvent[] =>
  decided(EntryDraftDiscarded, { entry_id: requireDraft(state).id });
