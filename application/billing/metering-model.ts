import type { CountMeter } from '../../domain/billing/metering.ts';
import type { Window } from '../../domain/billing/shapes.ts';
import { coversAfter, type Moment, type Tenure } from '../../domain/billing/tenure.ts';

/** The metering read model: counts by day, days of activity by user, and tenures of customers. */
export interface MeteringModel {
  /** The partner's tenures of a tenant; empty if the tenant was never the partner's customer. */
  tenures(partnerId: string, tenantId: string): Promise<readonly Tenure[]>;
  /** Days with usage in order, both ends inclusive. */
  days(tenantId: string, range: DayRange): AsyncIterable<MeteredDay>;
  /** Active users in all months that the range touches. */
  active(tenantId: string, range: DayRange): AsyncIterable<ActiveMonth>;
}

export interface DayRange {
  readonly first: string;
  readonly last: string;
}

export interface MeteredDay {
  readonly day: string;
  /** Positions of the first and last event that changed the day: counted events, users' events and hand-overs. */
  readonly first: string;
  readonly last: string;
  /** One part, and one more for each hand-over on the day. */
  readonly parts: readonly MeteredPart[];
  /** Set when the parts are wrong, because a hand-over was folded after events that follow it. */
  readonly isMixed?: true;
}

export interface MeteredPart {
  /** The hand-over that started the part; null for the first part of a day. */
  readonly from: Moment | null;
  readonly counts: Readonly<Partial<Record<CountMeter, number>>>;
  /** By active user: position of the first event in this part that follows the day's first hand-over in the log. */
  readonly users: Readonly<Record<string, string>>;
}

export interface ActiveMonth {
  readonly month: string;
  readonly user: string;
  /** Position of the first event of each day. */
  readonly days: Readonly<Record<string, string>>;
}

const DAY_MS = 86_400_000;

/** The day (UTC) of an instant. */
export const dayOf = (instant: string): string => instant.slice(0, 10);
export const midnight = (day: string): string => `${day}T00:00:00.000Z`;
export const isMidnight = (instant: string): boolean => instant.endsWith('T00:00:00.000Z');

/** The days that a window touches. */
export const rangeOf = ({ from, to }: Window): DayRange => ({
  first: dayOf(from),
  last: dayOf(isMidnight(to) ? new Date(Date.parse(to) - DAY_MS).toISOString() : to),
});

/**
 * The parts of a day that lie entirely in the tenures. Undefined when events must be checked one by one: parts are
 * mixed, or some events of the day precede an earlier day's hand-over in the log.
 */
export const partsDuring = (
  tenures: readonly Tenure[],
  { day, first, last, parts, isMixed }: MeteredDay,
): readonly MeteredPart[] | undefined => {
  const earlier = tenures
    .flatMap(({ from, to }) => [from, to])
    .filter((moment): moment is Moment => moment !== null && dayOf(moment.at) < day);
  if (isMixed || earlier.some(({ position }) => first < position && position < last)) return undefined;
  const isBehind = (moment: Moment): boolean => dayOf(moment.at) < day && moment.position < first;
  const isFirstOwn = tenures.some(
    ({ from, to }) => (from === null || isBehind(from)) && (to === null || !isBehind(to)),
  );
  return parts.filter(({ from }) => (from === null ? isFirstOwn : coversAfter(tenures, from)));
};
