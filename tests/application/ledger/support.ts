import { Books } from '../../../application/books.ts';
import type { RecordedEvent } from '../../../application/codec.ts';
import { Ledger } from '../../../application/ledger.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { Postings } from '../../../application/postings.ts';
import type { RequestContext } from '../../../application/request-context.ts';
import { PLATFORM } from '../../../application/streams.ts';
import { postingFinisher } from '../../../application/subscribers/posting-finisher.ts';
import type { EventDefinition } from '../../../domain/event.ts';
import type { EntryEvent } from '../../../domain/ledger/entry-events.ts';
import type { JournalEvent, PostingEvent } from '../../../domain/ledger/journal.ts';
import { createTenant, tenantDecider } from '../../../domain/tenancy/tenant.ts';
import { uuidV7Ids } from '../../../infrastructure/identity/ids.ts';
import { causeOf } from '../../support/book.ts';
import { memoryStores, type SharedStores, startNode } from '../../support/node.ts';

export const TENANT = 'acme';
export const CHART = [
  ['1000', 'Asset'],
  ['1200', 'Asset'],
  ['2100', 'Liability'],
  ['3000', 'Equity'],
  ['4000', 'Revenue'],
  ['5000', 'Expense'],
] as const;

let requests = 0;

/** A request of its own; with `again`, one with a key that may have had its effect already. */
export const request = (keyed?: { readonly name: string }): RequestContext => {
  requests += 1;
  let made = 0;
  const name = keyed?.name ?? `request-${requests}`;
  return {
    cause: causeOf(name),
    again: keyed === undefined ? undefined : { since: 0 },
    newId: () => {
      made += 1;
      return `${name}-${made}`;
    },
  };
};

/** A node with a ledger. */
export const startLedger = (
  shared: Partial<SharedStores> & {
    readonly clock?: Clock;
    readonly definitions?: readonly EventDefinition[];
  } = memoryStores(),
  wrap: (events: EventStore) => EventStore = (events) => events,
) => {
  const events = shared.events ?? memoryStores().events;
  const node = startNode({ ...shared, events: wrap(events) });
  const { commands, states, codec, clock, directory, logger } = node;
  const ids = uuidV7Ids(clock);
  const postings = new Postings({ commands, states, events: node.events, codec, ids, logger });
  const finisher = postingFinisher({ postings });

  const readAll = async () => (await events.readAll({ limit: 100_000 })).map((each) => codec.decode(each));
  return {
    ...node,
    postings,
    books: new Books({ commands, states }),
    ledger: new Ledger({ commands, directory, clock, postings }),
    readAll,
    /** All that is in the books, in order. */
    postingsOf: async () =>
      (await readAll())
        .filter(({ type }) => type === 'EntryPosted' || type === 'EntryReversed')
        // The type says what the data is.
        .map((event) => event as RecordedEvent<PostingEvent>),
    /** As the subscriber does after a crash, from the beginning of the log. */
    finishAll: async () => {
      for (const event of await readAll()) {
        if (finisher.types.includes(event.type)) await finisher.handle(event);
      }
    },
  };
};

export type LedgerNode = ReturnType<typeof startLedger>;

/** A tenant, its chart, and open books. */
export const fill = async ({ commands, books }: LedgerNode): Promise<void> => {
  await commands.execute({
    tenantId: PLATFORM,
    decider: tenantDecider,
    id: TENANT,
    cause: causeOf('tenant'),
    decide: (state) =>
      createTenant(state, {
        tenantId: TENANT,
        name: 'Acme',
        plan: 'pro',
        partner_id: null,
        entitlements: { ledger: true, assistant: false },
        currency: 'EUR',
        timezone: 'UTC',
      }),
  });
  for (const [code, type] of CHART) {
    await books.openAccount(TENANT, { code, name: `Account ${code}`, type, active: true }, request());
  }
};

/** Lines that debit the first account and credit the second. */
export const move = (debit: string, credit: string, amount: number) => [
  { account_code: debit, debit: amount },
  { account_code: credit, credit: amount },
];

export const draft = async (
  { ledger }: LedgerNode,
  { date = '2026-03-15', lines = move('1000', '4000', 100) } = {},
): Promise<string> => (await ledger.draft(TENANT, { date, lines }, { kind: 'manual' }, request())).draft.id;

export const eventsOf = (
  events: readonly RecordedEvent[],
  id: string,
): (JournalEvent | EntryEvent)['type'][] =>
  events
    .filter(({ stream }) => stream === `${TENANT}.entry-${id}`)
    // The stream holds the entry's events and no others.
    .map(({ type }) => type as EntryEvent['type']);
