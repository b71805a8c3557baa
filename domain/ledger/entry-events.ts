import { z } from 'zod';
import { defineEvent, type EventOf } from '../event.ts';
import { content, source } from './content.ts';

/** What happens in the stream of one entry (entry.ts). */

/** Also after a draft of the same id was discarded. */
export const EntryDrafted = defineEvent('EntryDrafted', content.extend({ entry_id: z.string(), source }));
/** With all that the draft says from now on. */
export const EntryDraftChanged = defineEvent(
  'EntryDraftChanged',
  content.extend({
    entry_id: z.string(),
    source,
    /** RFC 3339 */
    drafted_at: z.string(),
  }),
);
export const EntryDraftDiscarded = defineEvent(
  'EntryDraftDiscarded',
  z.object({
    entry_id: z.string(),
    /** It was to be posted at once, and was refused: it can be recorded again. */
    refused: z.literal(true).optional(),
  }),
);

const attempt = {
  entry_id: z.string(),
  /** Of the one posting that the journal accepts or refuses, once. */
  attempt_id: z.string(),
  /** Where the journal stood before: its answer lies behind. -1 for an empty one. */
  journal_revision: z.number(),
};
/** Somebody has won: the draft cannot change any more, until the journal refuses it. */
export const EntryPostingStarted = defineEvent('EntryPostingStarted', z.object(attempt));
/** The journal has refused the attempt: a draft as before. */
export const EntryPostingAbandoned = defineEvent(
  'EntryPostingAbandoned',
  z.object({ entry_id: z.string(), attempt_id: z.string() }),
);
/** The journal has it: this stream is closed. */
export const EntryPostingSettled = defineEvent(
  'EntryPostingSettled',
  z.object({
    entry_id: z.string(),
    attempt_id: z.string(),
    number: z.number(),
    /** Revision of the posting in the journal. */
    revision: z.number(),
  }),
);
/** Somebody has won: nobody else can reverse the entry, unless the journal refuses this mirror. */
export const EntryReversalStarted = defineEvent(
  'EntryReversalStarted',
  z.object({ ...attempt, mirror_id: z.string(), date: z.string(), memo: z.string() }),
);
export const EntryReversalAbandoned = defineEvent(
  'EntryReversalAbandoned',
  z.object({ entry_id: z.string(), attempt_id: z.string() }),
);
export const EntryReversalSettled = defineEvent(
  'EntryReversalSettled',
  z.object({ entry_id: z.string(), attempt_id: z.string(), mirror_id: z.string(), revision: z.number() }),
);
/** First in a mirror's own stream, before the journal has the mirror: it can be neither changed, posted nor reversed. */
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
