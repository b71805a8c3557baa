import { EntryPostingStarted, EntryReversalStarted } from '../../domain/ledger/entry-events.ts';
import { dataOf } from '../codec.ts';
import type { Postings } from '../postings.ts';
import type { Subscriber } from '../subscriber.ts';

/**
 * Ends postings and reversals wherever the process that began them stopped (docs/decisions/0014-posting-over-two-streams.md). Mostly there is
 * nothing left to do.
 */
export const postingFinisher = ({ postings }: { readonly postings: Postings }): Subscriber => ({
  name: 'posting-finisher',
  types: [EntryPostingStarted.type, EntryReversalStarted.type],
  handle: async (event) => {
    const data = dataOf(EntryPostingStarted, event) ?? dataOf(EntryReversalStarted, event);
    if (data !== undefined) await postings.settle(event.tenantId, data.entry_id, event.revision);
  },
});
