import { Books } from '../../application/books.ts';
import { Ledger } from '../../application/ledger.ts';
import { Postings } from '../../application/postings.ts';
import type { Subscriber } from '../../application/subscriber.ts';
import { postingFinisher } from '../../application/subscribers/posting-finisher.ts';
import type { Core } from './core.ts';

/** The general ledger: chart and lock, entries, and how they come into the books. */
export interface LedgerArea {
  readonly books: Books;
  readonly ledger: Ledger;
  readonly postings: Postings;
}

export const composeLedger = (core: Core): LedgerArea => {
  const { commands, states, stores, codec, clock, ids, logger, directory } = core;
  const postings = new Postings({ commands, states, events: stores.events, codec, ids, logger });
  return {
    postings,
    books: new Books({ commands, states }),
    ledger: new Ledger({ commands, directory, clock, postings }),
  };
};

export const ledgerSubscribers = ({ postings }: Pick<LedgerArea, 'postings'>): readonly Subscriber[] => [
  postingFinisher({ postings }),
];
