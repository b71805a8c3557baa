import type { CountMeter } from '../../domain/billing/metering.ts';
import type { Window } from '../../domain/billing/shapes.ts';

/** The read model of metering: what was counted by day, and who was active on which days. */
export interface MeteringModel {
  /** Days with usage, both ends in, in order. */
  days(tenantId: string, range: DayRange): AsyncIterable<MeteredDay>;
  /** Of all months of the range. */
  active(tenantId: string, range: DayRange): AsyncIterable<ActiveMonth>;
}

export interface DayRange {
  readonly first: string;
  readonly last: string;
}

export interface MeteredDay {
  readonly day: string;
  /** Places in the log of the first and the last event that counted. */
  readonly first: string;
  readonly last: string;
  readonly counts: Readonly<Partial<Record<CountMeter, number>>>;
}

export interface ActiveMonth {
  readonly month: string;
  readonly user: string;
  /** Place in the log of the first event of each day. */
  readonly days: Readonly<Record<string, string>>;
}

const DAY_MS = 86_400_000;

/** The day (UTC) of an instant. */
export const dayOf = (instant: string): string => instant.slice(0, 10);
export const midnight = (day: string): string => `${day}T00:00:00.000Z`;
export const isMidnight = (instant: string): boolean => instant.endsWith('T00:00:00.000Z');

/** Days that a window has a part of. */
export const rangeOf = ({ from, to }: Window): DayRange => ({
  first: dayOf(from),
  last: dayOf(isMidnight(to) ? new Date(Date.parse(to) - DAY_MS).toISOString() : to),
});
