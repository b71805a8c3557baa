import { type ActiveMonth, type DayRange, dayOf, type MeteredDay } from '../../domain/billing/metered-day.ts';
import { activeUserOf, metersOf } from '../../domain/billing/metering.ts';
import { catalogue } from '../../domain/catalogue.ts';
import {
  type DocumentReader,
  every,
  iso,
  type ProjectedEvent,
  type Projection,
  type Touch,
  touch,
} from '../../domain/core/projection.ts';
import { dayAfter, dayBefore } from '../../domain/ledger/dates.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import { customers } from './customers.ts';
import { countOn } from './metered-days.ts';

/**
 * Usage of tenants, counted from the event log at `occurred_at` (decisions, section 10, Meters). One document per
 * tenant and day (UTC), one per tenant, month and person, and one per tenant with its tenures.
 */

const NONE: readonly Touch[] = [];

/** All event types, since any event of a person makes that person an active user. */
const TYPES: ReadonlySet<string> = new Set(catalogue.map(({ type }) => type));

const active = (day: string, user: string, position: string) => {
  const [month, dayOfMonth] = [day.slice(0, 7), day.slice(8)];
  return touch<ActiveMonth>('active', `${month}.${user}`, (doc) =>
    doc?.days[dayOfMonth] === undefined
      ? { month, user, days: { ...doc?.days, [dayOfMonth]: position } }
      : doc,
  );
};

const fold = (event: ProjectedEvent): readonly Touch[] => {
  if (!isTenantId(event.tenantId)) return customers.fold(event);
  if (!TYPES.has(event.type)) return NONE;
  const meters = metersOf(event);
  const user = activeUserOf(event);
  if (meters.length === 0 && user === undefined) return NONE;
  const { position } = event;
  const at = iso(event.at);
  const bucket = countOn({ at, position, meters, user });
  return user === undefined ? [bucket] : [bucket, active(dayOf(at), user, position)];
};

export const meteringProjection: Projection = {
  name: 'metering',
  version: 2,
  collections: [
    ...customers.collections,
    { name: 'days', indexes: [{ name: 'by_day', fields: ['day'] }] },
    { name: 'active', indexes: [{ name: 'by_month', fields: ['month'] }] },
  ],
  types: [...TYPES],
  fold,
};

// Queries

const PAGE = 1000;

const inOrder = <D>(
  reader: DocumentReader,
  collection: string,
  tenantId: string,
  query: { readonly index: string; readonly range: { readonly gt: string; readonly lt: string } },
): AsyncIterable<D> =>
  every((page) => reader.find(collection, tenantId, { ...query, equals: [], order: 'asc', ...page }), PAGE);

/** Days with usage; both ends are inclusive. */
export const daysOf = (
  reader: DocumentReader,
  tenantId: string,
  { first, last }: DayRange,
): AsyncIterable<MeteredDay> =>
  inOrder(reader, 'days', tenantId, { index: 'by_day', range: { gt: dayBefore(first), lt: dayAfter(last) } });

/** Active persons of each month, from the month of the first day to the month of the last day. */
export const activeOf = (
  reader: DocumentReader,
  tenantId: string,
  { first, last }: DayRange,
): AsyncIterable<ActiveMonth> =>
  inOrder(reader, 'active', tenantId, {
    index: 'by_month',
    range: { gt: dayBefore(`${first.slice(0, 7)}-01`).slice(0, 7), lt: `${last.slice(0, 7)}~` },
  });
