import { collection } from '../../domain/core/collection.ts';
import { type DocumentReader, iso, type Page, type PageRequest } from '../../domain/core/projection.ts';
import {
  type Content,
  type EntryOrigin,
  namedLines,
  type PostedLine,
  totalsOf,
} from '../../domain/ledger/content.ts';
import { dayAfter, dayBefore } from '../../domain/ledger/dates.ts';
import type { PostingEvent } from '../../domain/ledger/journal.ts';

/** Entries as lists show them (decisions, section 9, Entry). Part of the projection `ledger`. */

export type EntryState = 'draft' | 'posted' | 'reversed';

export interface EntryDoc {
  readonly id: string;
  /** Null for a draft. */
  readonly number: number | null;
  readonly state: EntryState;
  readonly date: string;
  readonly memo: string;
  readonly currency: string;
  /** Account names are fixed at posting; lines of a draft have no names. */
  readonly lines: readonly PostedLine[];
  readonly total_debit: number;
  readonly total_credit: number;
  readonly source: EntryOrigin;
  readonly reversal_of?: string;
  readonly reversed_by?: string;
  readonly created_at: string;
  readonly posted_at?: string;
  /** One value for each filter that matches the journal entry. */
  readonly facets: readonly string[];
}

/** Filters of entries, except the date. Account codes compare without case. */
interface Facet {
  readonly account?: string | undefined;
  readonly state?: string | undefined;
}

const facet = ({ account, state }: Facet): string =>
  JSON.stringify([account?.toLowerCase() ?? null, state ?? null]);

export const withFacets = (entry: Omit<EntryDoc, 'facets'>): EntryDoc => {
  const codes = new Set(entry.lines.map(({ account_code }) => account_code.toLowerCase()));
  return {
    ...entry,
    facets: [undefined, ...codes].flatMap((account) =>
      [undefined, entry.state].map((state) => facet({ account, state })),
    ),
  };
};

export const draftDoc = (id: string, draft: Content, source: EntryOrigin, createdAt: string): EntryDoc => {
  const { debit, credit } = totalsOf(draft.lines);
  return withFacets({
    id,
    number: null,
    state: 'draft',
    date: draft.date,
    memo: draft.memo,
    currency: draft.currency,
    lines: draft.lines,
    total_debit: debit,
    total_credit: credit,
    source,
    created_at: createdAt,
  });
};

/**
 * The posted entry as lists show it. The route also answers with this document, without waiting for the read model.
 * @param at ms
 */
export const postedDoc = (posting: PostingEvent, at: number): EntryDoc => {
  const { data } = posting;
  return withFacets({
    id: data.entry_id,
    number: data.number,
    state: 'posted',
    date: data.date,
    memo: data.memo,
    currency: data.currency,
    lines: namedLines(data.lines),
    total_debit: data.total,
    total_credit: data.total,
    source: data.source,
    ...(posting.type === 'EntryReversed' ? { reversal_of: posting.data.reversal_of } : {}),
    created_at: data.drafted_at,
    posted_at: iso(at),
  });
};

export const entriesCollection = {
  name: 'entries',
  indexes: [
    { name: 'by_facet', fields: ['facets', 'date', 'created_at'], multi: 'facets' },
    { name: 'by_number', fields: ['number'] },
  ],
};

// Queries

export interface EntryFilter extends Facet {
  /** Both ends are inclusive. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/** Latest date first; among entries of one date, latest creation first. */
export const entriesOf = (
  reader: DocumentReader,
  tenantId: string,
  { from, to, ...by }: EntryFilter,
  page: PageRequest,
): Promise<Page<EntryDoc>> =>
  reader.find('entries', tenantId, {
    index: 'by_facet',
    equals: [facet(by)],
    range: {
      ...(from === undefined ? {} : { gt: dayBefore(from) }),
      ...(to === undefined ? {} : { lt: dayAfter(to) }),
    },
    order: 'desc',
    // The store also bounds a page's size in bytes: an entry may have a thousand lines.
    ...page,
  });

export const entries = collection<EntryDoc>('entries');

export const entryById = entries.get;

/** Number of the latest posting; 0 for an empty journal. */
export const lastNumber = async (reader: DocumentReader, tenantId: string): Promise<number> => {
  const { docs } = await reader.find<EntryDoc>('entries', tenantId, {
    index: 'by_number',
    equals: [],
    range: { gt: 0 },
    order: 'desc',
    limit: 1,
  });
  return docs[0]?.number ?? 0;
};

/** Posted entries by number. @param through last number to return */
export const postedEntries = (
  reader: DocumentReader,
  tenantId: string,
  through: number,
  page: PageRequest,
): Promise<Page<EntryDoc>> =>
  reader.find('entries', tenantId, {
    index: 'by_number',
    equals: [],
    range: { gt: 0, lt: through + 1 },
    order: 'asc',
    ...page,
  });
