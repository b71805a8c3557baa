import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import type { RecordedEvent } from '../../../application/core/events/event-codec.ts';
import { ChartOfAccounts } from '../../../application/ledger/chart-of-accounts.ts';
import { Entries } from '../../../application/ledger/entries.ts';
import { LedgerJournal } from '../../../application/ledger/journal.ts';
import { PostingProcess, postingFinisher } from '../../../application/ledger/posting-process.ts';
import type { Clock } from '../../../application/ports/clock.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import type { EventDefinition } from '../../../domain/core/event.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import type { EntryEvent } from '../../../domain/ledger/entry.ts';
import type { JournalEvent, PostingEvent } from '../../../domain/ledger/journal.ts';
import { createTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
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

/** A new request; with a name, a keyed request whose effect may exist already. */
export const request = (keyed?: { readonly name: string }): RequestContext => {
  requests += 1;
  let made = 0;
  const name = keyed?.name ?? `request-${requests}`;
  return {
    cause: causeOf(name),
    priorAttempt: keyed === undefined ? undefined : { since: 0 },
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
  const { codec } = node;
  const journal = new LedgerJournal(node);
  const chart = new ChartOfAccounts(node);
  const posting = new PostingProcess({ ...node, ids: uuidV7Ids(node.clock), journal });
  const entries = new Entries({ ...node, journal, posting });
  const finisher = postingFinisher(posting);

  const readAll = async () => (await events.readAll({ limit: 100_000 })).map((each) => codec.decode(each));
  return {
    ...node,
    journal,
    chart,
    posting,
    entries,
    readAll,
    /** All postings in the order of the journal. */
    postingsOf: async () =>
      (await readAll())
        .filter(({ type }) => type === 'EntryPosted' || type === 'EntryReversed')
        // The type determines the data.
        .map((event) => event as RecordedEvent<PostingEvent>),
    /** Runs `postingFinisher` over the whole log, as after a crash. */
    finishAll: async () => {
      for (const event of await readAll()) {
        if (finisher.types.includes(event.type)) await finisher.handle(event);
      }
    },
  };
};

export type LedgerNode = ReturnType<typeof startLedger>;

/** Creates a tenant with its chart of accounts and without a locked period. */
export const fill = async ({ commands, chart }: LedgerNode): Promise<void> => {
  await commands.execute({
    tenantId: PLATFORM,
    type: tenantStream,
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
    await chart.openAccount(TENANT, { code, name: `Account ${code}`, type, active: true }, request());
  }
};

/** Lines that debit the first account and credit the second. */
export const move = (debit: string, credit: string, amount: number) => [
  { account_code: debit, debit: amount },
  { account_code: credit, credit: amount },
];

export const draft = async (
  { entries }: LedgerNode,
  { date = '2026-03-15', lines = move('1000', '4000', 100) } = {},
): Promise<string> => (await entries.draft(TENANT, { date, lines }, { kind: 'manual' }, request())).draft.id;

export const eventsOf = (
  events: readonly RecordedEvent[],
  id: string,
): (JournalEvent | EntryEvent)['type'][] =>
  events
    .filter(({ stream }) => stream === `${TENANT}.entry-${id}`)
    // The stream holds only the entry’s events.
    .map(({ type }) => type as EntryEvent['type']);
