import { collection } from '../../domain/core/collection.ts';
import {
  type Document,
  type DocumentReader,
  iso,
  type ProjectedEvent,
  type RangeQuery,
  type Touch,
  touch,
} from '../../domain/core/projection.ts';
import type { AccountEvent } from '../../domain/ledger/account.ts';
import type { PostingEvent } from '../../domain/ledger/journal.ts';
import { added, type Buckets, linesByAccount } from './ledger-balances.ts';

/**
 * Posted amounts by month of recording (UTC), for reports as of a position (decision 19). A month is complete once a
 * later month has begun, since the log only grows. Part of the projection `ledger`.
 */

/** A month of recording, with the position and revision of its first posting or chart change. */
interface RecordingDoc {
  readonly position: string;
  readonly revision: number;
  /** `YYYY-MM` */
  readonly month: string;
}

/** One account's sums by day of the month `period`, of amounts that were recorded in the month `recorded`. */
export interface RecordedDoc {
  readonly currency: string;
  /** `YYYY-MM` */
  readonly recorded: string;
  /** `YYYY-MM` */
  readonly period: string;
  /** The code in lower case. */
  readonly account: string;
  readonly buckets: Buckets;
}

/** An account's code, name and type, valid from this revision of the journal on. */
export interface ChartChangeDoc
  extends Readonly<Pick<AccountEvent['data'], 'account_id' | 'code' | 'name' | 'type'>> {
  readonly revision: number;
}

export const recordedCollections = [
  { name: 'recordings', indexes: [{ name: 'by_position', fields: ['position'] }] },
  { name: 'recorded', indexes: [{ name: 'by_recorded', fields: ['currency', 'recorded'] }] },
  { name: 'chart_changes', indexes: [{ name: 'by_revision', fields: ['revision'] }] },
];

const recordedMonth = ({ at }: ProjectedEvent): string => iso(at).slice(0, 7);

const recordingTouch = (event: ProjectedEvent): Touch => {
  const { position, revision } = event;
  const month = recordedMonth(event);
  return touch<RecordingDoc>('recordings', month, (doc) => doc ?? { position, revision, month });
};

export const recordedTouches = (event: ProjectedEvent<PostingEvent> & PostingEvent): Touch[] => {
  const recorded = recordedMonth(event);
  const { currency, date, lines } = event.data;
  const [period, day] = [date.slice(0, 7), date.slice(8, 10)];
  return [
    recordingTouch(event),
    ...[...linesByAccount(lines)].map(([account, own]) =>
      touch<RecordedDoc>('recorded', `${recorded}.${currency}.${period}.${account}`, (doc) => ({
        currency,
        recorded,
        period,
        account,
        buckets: added(doc?.buckets, day, own),
      })),
    ),
  ];
};

const chartChanges = collection<ChartChangeDoc>('chart_changes');

export const chartTouches = (event: ProjectedEvent<AccountEvent> & AccountEvent): Touch[] => {
  const { revision } = event;
  const { account_id, code, name, type } = event.data;
  return [
    recordingTouch(event),
    chartChanges.put(String(revision), { revision, account_id, code, name, type }),
  ];
};

// Queries

/** Sums and chart changes of complete months. `next`: revision of the first posting or chart change after them. */
export interface Recorded {
  readonly sums: readonly RecordedDoc[];
  readonly chart: readonly ChartChangeDoc[];
  readonly next: number;
}

const NOTHING: Recorded = { sums: [], chart: [], next: 0 };

/**
 * Amounts in one currency, recorded in the complete months before a position. A lagging read model gives fewer
 * months.
 * @param folded checkpoint of the read model, undefined if unknown. Months that begin at or after the checkpoint are
 * not used, because a store without transactions can show only a part of their events
 */
export const recordedBefore = async (
  reader: DocumentReader,
  tenantId: string,
  currency: string,
  position: string,
  folded: string | undefined,
): Promise<Recorded> => {
  if (folded === undefined) return NOTHING;
  const begun = {
    index: 'by_position',
    equals: [],
    range: { lt: folded < position ? folded : position },
    order: 'desc',
  } as const;
  const { docs } = await reader.find<RecordingDoc>('recordings', tenantId, { ...begun, limit: 1 });
  const [last] = docs;
  if (last === undefined) return NOTHING;
  const queries: readonly RangeQuery[] = [
    {
      collection: 'recorded',
      index: 'by_recorded',
      equals: [currency],
      range: { lt: last.month },
      order: 'asc',
    },
    {
      collection: 'chart_changes',
      index: 'by_revision',
      equals: [],
      range: { lt: last.revision },
      order: 'asc',
    },
    { collection: 'recordings', ...begun },
  ];
  const [sums = [], chart = [], months = []] = await reader.findAll(tenantId, queries);
  // A new generation may have become active since the first read. If it lacks this month, it may lack earlier months.
  if (!documents<RecordingDoc>(months).some(({ month }) => month === last.month)) return NOTHING;
  return { sums: documents<RecordedDoc>(sums), chart: documents<ChartChangeDoc>(chart), next: last.revision };
};

/** Casts documents of a collection that holds only documents of type `D`. */
const documents = <D>(found: readonly Document[]): readonly D[] =>
  found as readonly unknown[] as readonly D[];
