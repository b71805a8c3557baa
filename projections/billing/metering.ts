import { activeUserOf, type CountMeter, metersOf } from '../domain/billing/metering.ts';
import { catalogue } from '../domain/catalogue.ts';
import { dayAfter, dayBefore } from '../domain/ledger/dates.ts';
import {
  type DocumentReader,
  iso,
  type PageEnd,
  type ProjectedEvent,
  type Projection,
  type Touch,
  touch,
} from '../domain/projection.ts';
import { isTenantId } from '../domain/tenancy/tenant.ts';

/**
 * What tenants used, counted from the event log (decisions, section 10, Meters): a document for each tenant and day
 * (UTC), and one for each tenant, month and person. Every event counts where its `occurred_at` lies.
 */

export interface DayDoc {
  /** `YYYY-MM-DD` */
  readonly day: string;
  /** Places in the log of the first and the last event that counted: all of the day lie between them. */
  readonly first: string;
  readonly last: string;
  readonly counts: Readonly<Partial<Record<CountMeter, number>>>;
}

export interface ActiveDoc {
  /** `YYYY-MM` */
  readonly month: string;
  readonly user: string;
  /** Places in the log of the first event of each day (`01` to `31`) on which the person was active. */
  readonly days: Readonly<Record<string, string>>;
}

const NONE: readonly Touch[] = [];

/** All: whatever a person causes makes the person an active user. */
const TYPES: ReadonlySet<string> = new Set(catalogue.map(({ type }) => type));

const counted = (day: string, meters: readonly CountMeter[], position: string) =>
  touch<DayDoc>('days', day, (doc) => {
    let counts = doc?.counts ?? {};
    for (const meter of meters) counts = { ...counts, [meter]: (counts[meter] ?? 0) + 1 };
    return { day, first: doc?.first ?? position, last: position, counts };
  });

const active = (day: string, user: string, position: string) => {
  const [month, dayOfMonth] = [day.slice(0, 7), day.slice(8)];
  return touch<ActiveDoc>('active', `${month}.${user}`, (doc) =>
    doc?.days[dayOfMonth] === undefined
      ? { month, user, days: { ...doc?.days, [dayOfMonth]: position } }
      : doc,
  );
};

const fold = (event: ProjectedEvent): readonly Touch[] => {
  if (!isTenantId(event.tenantId) || !TYPES.has(event.type)) return NONE;
  const meters = metersOf(event);
  const user = activeUserOf(event);
  if (meters.length === 0 && user === undefined) return NONE;
  const { position } = event;
  const day = iso(event.at).slice(0, 10);
  const bucket = counted(day, meters, position);
  return user === undefined ? [bucket] : [bucket, active(day, user, position)];
};

export const meteringProjection: Projection = {
  name: 'metering',
  version: 1,
  collections: [
    { name: 'days', indexes: [{ name: 'by_day', fields: ['day'] }] },
    { name: 'active', indexes: [{ name: 'by_month', fields: ['month'] }] },
  ],
  types: [...TYPES],
  fold,
};

// Queries

const PAGE = 1000;

async function* inOrder<D>(
  reader: DocumentReader,
  collection: string,
  tenantId: string,
  query: { readonly index: string; readonly range: { readonly gt: string; readonly lt: string } },
): AsyncGenerator<D> {
  let after: PageEnd | undefined;
  do {
    const page = await reader.find<D>(collection, tenantId, {
      ...query,
      equals: [],
      order: 'asc',
      limit: PAGE,
      bounded: true,
      after,
    });
    yield* page.docs;
    after = page.next;
  } while (after !== undefined);
}

/** Days with usage, both ends in. */
export const daysOf = (
  reader: DocumentReader,
  tenantId: string,
  { first, last }: { readonly first: string; readonly last: string },
): AsyncIterable<DayDoc> =>
  inOrder(reader, 'days', tenantId, { index: 'by_day', range: { gt: dayBefore(first), lt: dayAfter(last) } });

/** Who was active in the months from that of the first day to that of the last one. */
export const activeOf = (
  reader: DocumentReader,
  tenantId: string,
  { first, last }: { readonly first: string; readonly last: string },
): AsyncIterable<ActiveDoc> =>
  inOrder(reader, 'active', tenantId, {
    index: 'by_month',
    range: { gt: dayBefore(`${first.slice(0, 7)}-01`).slice(0, 7), lt: `${last.slice(0, 7)}~` },
  });
