import { Books } from '../../application/books.ts';
import { Ledger } from '../../application/ledger.ts';
import { PartnerDirectory } from '../../application/partner-directory.ts';
import { PostingRules } from '../../application/posting-rules.ts';
import { PostingSources } from '../../application/posting-sources.ts';
import { Postings } from '../../application/postings.ts';
import { RuleRunner } from '../../application/rule-runner.ts';
import type { Subscriber } from '../../application/subscriber.ts';
import { postingFinisher } from '../../application/subscribers/posting-finisher.ts';
import { rulePoster } from '../../application/subscribers/rule-poster.ts';
import type { Core } from './core.ts';

/** The general ledger: chart and lock, entries, how they come into the books, and the rules that make them. */
export interface LedgerArea {
  readonly books: Books;
  readonly ledger: Ledger;
  readonly postings: Postings;
  readonly postingRules: PostingRules;
  readonly ruleRunner: RuleRunner;
  readonly postingSources: PostingSources;
}

export const composeLedger = (core: Core): LedgerArea => {
  const { commands, states, stores, codec, clock, ids, logger, directory } = core;
  const { events } = stores;
  const postings = new Postings({ commands, states, events, codec, ids, logger });
  const ledger = new Ledger({ commands, directory, clock, postings });
  const runner = new RuleRunner({ commands, directory, events, ledger, logger });
  const partners = new PartnerDirectory(states);
  const sources = new PostingSources(
    async (partnerId) => (await partners.find(partnerId))?.home_tenant_id ?? undefined,
  );
  return {
    postings,
    books: new Books({ commands, states }),
    ledger,
    postingRules: new PostingRules({
      commands,
      states,
      directory,
      events,
      codec,
      clock,
      ledger,
      sources,
      runner,
    }),
    ruleRunner: runner,
    postingSources: sources,
  };
};

export const ledgerSubscribers = (
  { states, stores, codec }: Core,
  { postings, ruleRunner, postingSources }: LedgerArea,
): readonly Subscriber[] => [
  postingFinisher({ postings }),
  rulePoster({ runner: ruleRunner, sources: postingSources, events: stores.events, codec, states }),
];
