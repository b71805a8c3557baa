import type { Decider } from '../decider.ts';
import { DomainError, notFound } from '../errors.ts';
import type { EventMeta } from '../event.ts';
import { type Content, requireBalance, type Source } from './content.ts';
import type { EntryEvent } from './entry-events.ts';

/**
 * The stream of one entry: the draft, and who won when several wanted to post or reverse it. Whether an entry is in the
 * books, and as what, is said by the journal alone (docs/decisions/0014-posting-over-two-streams.md).
 */

// State

export interface Attempt {
  readonly id: string;
  readonly journalRevision: number;
}

interface Drafted {
  readonly id: string;
  readonly content: Content;
  readonly source: Source;
  /** ms */
  readonly createdAt: number;
}
export interface Draft extends Drafted {
  readonly status: 'draft';
}
export interface Posting extends Drafted {
  readonly status: 'posting';
  readonly attempt: Attempt;
}
interface InBooks {
  readonly id: string;
  readonly number: number;
  readonly date: string;
  /** Of its posting in the journal, where the lines are. */
  readonly revision: number;
}
export interface PostedEntry extends InBooks {
  readonly status: 'posted';
}
export interface Reversing extends InBooks {
  readonly status: 'reversing';
  readonly attempt: Attempt;
  readonly mirror: { readonly id: string; readonly date: string; readonly memo: string };
}
export interface ReversedEntry extends InBooks {
  readonly status: 'reversed';
  readonly mirror: { readonly id: string; readonly revision: number };
}
export type Entry =
  | { readonly status: 'none' }
  | { readonly status: 'discarded'; readonly refused: boolean }
  | Draft
  | Posting
  | PostedEntry
  | Reversing
  | ReversedEntry
  | { readonly status: 'mirror'; readonly id: string; readonly reversalOf: string };

const contentOf = ({ date, memo, currency, lines }: Content): Content => ({ date, memo, currency, lines });

const evolve = (state: Entry, event: EntryEvent, meta: EventMeta): Entry => {
  switch (event.type) {
    case 'EntryDrafted':
      return {
        status: 'draft',
        id: event.data.entry_id,
        content: contentOf(event.data),
        source: event.data.source,
        createdAt: meta.at,
      };
    case 'EntryDraftChanged':
      return state.status === 'draft' ? { ...state, content: contentOf(event.data) } : state;
    case 'EntryDraftDiscarded':
      return { status: 'discarded', refused: event.data.refused === true };
    case 'EntryPostingStarted':
      return state.status === 'draft'
        ? { ...state, status: 'posting', attempt: attemptOf(event.data) }
        : state;
    case 'EntryPostingAbandoned': {
      if (state.status !== 'posting') return state;
      const { attempt: _attempt, ...draft } = state;
      return { ...draft, status: 'draft' };
    }
    case 'EntryPostingSettled': {
      if (state.status !== 'posting') return state;
      const { number, revision } = event.data;
      return { status: 'posted', id: state.id, number, revision, date: state.content.date };
    }
    case 'EntryReversalStarted': {
      if (state.status !== 'posted') return state;
      const { mirror_id, date, memo } = event.data;
      const mirror = { id: mirror_id, date, memo };
      return { ...state, status: 'reversing', attempt: attemptOf(event.data), mirror };
    }
    case 'EntryReversalAbandoned': {
      if (state.status !== 'reversing') return state;
      const { attempt: _attempt, mirror: _mirror, ...posted } = state;
      return { ...posted, status: 'posted' };
    }
    case 'EntryReversalSettled': {
      if (state.status !== 'reversing') return state;
      const { attempt: _attempt, ...posted } = state;
      const { mirror_id, revision } = event.data;
      return { ...posted, status: 'reversed', mirror: { id: mirror_id, revision } };
    }
    case 'EntryMirrorPrepared':
      return { status: 'mirror', id: event.data.entry_id, reversalOf: event.data.reversal_of };
    default:
      return event satisfies never;
  }
};

const attemptOf = (data: { attempt_id: string; journal_revision: number }): Attempt => ({
  id: data.attempt_id,
  journalRevision: data.journal_revision,
});

export const entryDecider: Decider<Entry, EntryEvent> = {
  category: 'entry',
  stateVersion: 1,
  initial: { status: 'none' },
  evolve,
};

// Decide

export const immutable = (message = 'The entry is in the books and stays as it is.'): DomainError =>
  new DomainError('immutable', message);

/** Under way: who finds this helps to end it, and then decides anew. */
export class UnderWay extends Error {
  override readonly name = 'UnderWay';
}

/** @throws `not_found`, `immutable`, {@link UnderWay} */
export const requireDraft = (state: Entry): Draft => {
  switch (state.status) {
    case 'draft':
      return state;
    case 'none':
    case 'discarded':
      throw notFound();
    case 'posting':
      throw new UnderWay();
    case 'posted':
    case 'reversing':
    case 'reversed':
    case 'mirror':
      throw immutable();
    default:
      return state satisfies never;
  }
};

/** Whether an entry can be recorded: none is there, and none was discarded by somebody. */
export const isVacant = (state: Entry): boolean =>
  state.status === 'none' || (state.status === 'discarded' && state.refused);

/** Nothing for an entry of this id that is, or was, there. */
export const draftEntry = (state: Entry, id: string, draft: Content, from: Source): readonly EntryEvent[] =>
  isVacant(state)
    ? [{ type: 'EntryDrafted', data: { entry_id: id, ...contentOf(draft), source: from } }]
    : [];

export type DraftChange = { readonly [K in keyof Content]?: Content[K] | undefined };

/** Equal content changes nothing. @throws as {@link requireDraft} */
export const changeDraft = (state: Entry, wanted: DraftChange): readonly EntryEvent[] => {
  const draft = requireDraft(state);
  const { date, memo, currency, lines } = draft.content;
  const after = {
    date: wanted.date ?? date,
    memo: wanted.memo ?? memo,
    currency: wanted.currency ?? currency,
    lines: wanted.lines ?? lines,
  };
  if (JSON.stringify(after) === JSON.stringify(draft.content)) return [];
  const { id, source: from, createdAt } = draft;
  return [
    {
      type: 'EntryDraftChanged',
      data: { entry_id: id, ...after, source: from, drafted_at: new Date(createdAt).toISOString() },
    },
  ];
};

/** @throws as {@link requireDraft} */
export const discardDraft = (state: Entry): readonly EntryEvent[] => [
  { type: 'EntryDraftDiscarded', data: { entry_id: requireDraft(state).id } },
];

/** Takes a draft away that was to be posted at once, and was refused. */
export const discardRefused = (state: Entry): readonly EntryEvent[] =>
  state.status === 'draft'
    ? [{ type: 'EntryDraftDiscarded', data: { entry_id: state.id, refused: true } }]
    : [];

/** @throws as {@link requireDraft}; `unbalanced` */
export const startPosting = (
  state: Entry,
  attemptId: string,
  journalRevision: number,
): readonly EntryEvent[] => {
  const draft = requireDraft(state);
  requireBalance(draft.content);
  return [
    {
      type: 'EntryPostingStarted',
      data: { entry_id: draft.id, attempt_id: attemptId, journal_revision: journalRevision },
    },
  ];
};

/** @throws `not_found`, `immutable`, {@link UnderWay} */
export const requireReversible = (state: Entry): PostedEntry => {
  switch (state.status) {
    case 'posted':
      return state;
    case 'none':
    case 'discarded':
      throw notFound();
    case 'posting':
    case 'reversing':
      throw new UnderWay();
    case 'draft':
      throw immutable('A draft is not reversed: it is changed or discarded.');
    case 'reversed':
      throw immutable('The entry is reversed already.');
    case 'mirror':
      throw immutable('A mirror is not reversed.');
    default:
      return state satisfies never;
  }
};

/** @throws as {@link requireReversible}; `constraint_violated` for a mirror dated before its original */
export const startReversal = (
  state: Entry,
  mirror: Reversing['mirror'],
  journalRevision: number,
): readonly EntryEvent[] => {
  const posted = requireReversible(state);
  if (mirror.date < posted.date) {
    const message = `A mirror is not dated before its original, ${posted.date}.`;
    throw new DomainError('constraint_violated', message, {
      issues: [{ path: 'date', code: 'before_original', message }],
    });
  }
  return [
    {
      type: 'EntryReversalStarted',
      data: {
        entry_id: posted.id,
        attempt_id: mirror.id,
        journal_revision: journalRevision,
        mirror_id: mirror.id,
        date: mirror.date,
        memo: mirror.memo,
      },
    },
  ];
};

/** A new draft that is posted at once. @throws as {@link requireDraft} for one that is there; `unbalanced` */
export const draftAndPost = (
  state: Entry,
  { id, content: draft, source: from }: Pick<Drafted, 'id' | 'content' | 'source'>,
  attemptId: string,
  journalRevision: number,
): readonly EntryEvent[] => {
  const drafted = draftEntry(state, id, draft, from);
  if (drafted.length === 0) return startPosting(state, attemptId, journalRevision);
  const began: Draft = { status: 'draft', id, content: draft, source: from, createdAt: 0 };
  return [...drafted, ...startPosting(began, attemptId, journalRevision)];
};
