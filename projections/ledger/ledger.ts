import { collection } from '../../domain/core/collection.ts';
import {
  type DocumentReader,
  iso,
  type ProjectedEvent,
  projection,
  type RangeQuery,
  type Touch,
  touch,
} from '../../domain/core/projection.ts';
import type { AccountEvent } from '../../domain/ledger/account.ts';
import type { EntryEvent } from '../../domain/ledger/entry.ts';
import type { JournalEvent, PostingEvent } from '../../domain/ledger/journal.ts';
import { balanceCollections, balanceTouches } from './ledger-balances.ts';
import { draftDoc, entries, entriesCollection, postedDoc, withFacets } from './ledger-entries.ts';
import { chartTouches, recordedCollections, recordedTouches } from './ledger-recorded.ts';

/**
 * The ledger (decisions, section 9): chart, entries, buckets, sums by month of recording, and the last change. Posted
 * entries come from the journal; an entry's own stream gives only the draft.
 */

export interface AccountDoc extends Readonly<Omit<AccountEvent['data'], 'account_id' | 'previous_code'>> {
  readonly id: string;
  /** The code in lower case. */
  readonly code_key: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/**
 * Position of the last event of a tenant's journal that reports include. While the position stays the same, a report of
 * the same range stays the same (decision 65).
 */
export interface LastChange {
  readonly position: string;
}

const accounts = collection<AccountDoc>('accounts');
const LAST_CHANGE_ID = 'journal';
const lastChanges = collection<LastChange>('last_changes');

const lastChangeTouch = ({ position }: ProjectedEvent): Touch =>
  lastChanges.put(LAST_CHANGE_ID, { position });

const accountTouch = (data: AccountEvent['data'], at: number): Touch =>
  touch<AccountDoc>('accounts', data.account_id, (account) => ({
    id: data.account_id,
    code: data.code,
    code_key: data.code.toLowerCase(),
    name: data.name,
    type: data.type,
    ...(data.category === undefined ? {} : { category: data.category }),
    active: data.active,
    created_at: account?.created_at ?? iso(at),
    updated_at: iso(at),
  }));

const posted = (event: ProjectedEvent<PostingEvent> & PostingEvent): Touch[] => [
  entries.put(event.data.entry_id, postedDoc(event, event.at)),
  ...balanceTouches(event),
  ...recordedTouches(event),
  lastChangeTouch(event),
];

const account = (event: ProjectedEvent<AccountEvent> & AccountEvent): Touch[] => [
  accountTouch(event.data, event.at),
  ...chartTouches(event),
  lastChangeTouch(event),
];

export const ledgerProjection = projection<JournalEvent | EntryEvent>({
  name: 'ledger',
  version: 3,
  collections: [
    { name: 'accounts', indexes: [{ name: 'by_code', fields: ['code_key'] }] },
    entriesCollection,
    ...balanceCollections,
    ...recordedCollections,
    { name: 'last_changes', indexes: [{ name: 'by_position', fields: ['position'] }] },
  ],
  on: {
    AccountOpened: account,
    AccountChanged: account,
    EntryDrafted: ({ data, at }) => [
      entries.put(data.entry_id, draftDoc(data.entry_id, data, data.source, iso(at))),
    ],
    EntryDraftChanged: ({ data }) => [
      entries.put(data.entry_id, draftDoc(data.entry_id, data, data.source, data.drafted_at)),
    ],
    EntryDraftDiscarded: ({ data }) => [entries.remove(data.entry_id)],
    EntryPosted: posted,
    EntryReversed: (event) => [
      ...posted(event),
      entries.change(event.data.reversal_of, (entry) =>
        withFacets({ ...entry, state: 'reversed', reversed_by: event.data.entry_id }),
      ),
    ],
  },
});

// Queries

/** The chart, by code. */
export const accountsOf = accounts.list('by_code', 'asc');

const accountsOfCode = accounts.listOf('by_code', 'asc');

/** @param code in any case */
export const accountByCode = async (
  reader: DocumentReader,
  tenantId: string,
  code: string,
): Promise<AccountDoc | undefined> => {
  const { docs } = await accountsOfCode(reader, tenantId, code.toLowerCase(), { limit: 1, after: undefined });
  return docs[0];
};

/** The whole chart, by code. */
export const WHOLE_CHART: RangeQuery = { collection: 'accounts', index: 'by_code', equals: [], order: 'asc' };

export const wholeChart = async (
  reader: DocumentReader,
  tenantId: string,
): Promise<readonly AccountDoc[]> => {
  const [chart = []] = await reader.findAll(tenantId, [WHOLE_CHART]);
  // The collection holds only documents of type `AccountDoc`.
  return chart as readonly unknown[] as readonly AccountDoc[];
};

/** Position of the last folded event of the journal that reports include; undefined if there is none. */
export const lastChangeOf = async (reader: DocumentReader, tenantId: string): Promise<string | undefined> =>
  (await lastChanges.get(reader, tenantId, LAST_CHANGE_ID))?.position;

/** {@link lastChangeOf} as a query, to be read together with other queries. */
export const LAST_CHANGE: RangeQuery = {
  collection: 'last_changes',
  index: 'by_position',
  equals: [],
  order: 'asc',
};
