import {
  type ActiveMonth,
  type DayRange,
  dayOf,
  type MeteredDay,
  type MeteredPart,
} from '../../domain/billing/metered-day.ts';
import type { Window } from '../../domain/billing/shapes.ts';
import { coversAfter, type Moment, type Tenure } from '../../domain/billing/tenure.ts';

/** The metering read model: counts by day, days of activity by user, and tenures of customers. */
export interface MeteringModel {
  /** The partner's tenures of a tenant; empty if the tenant was never the partner's customer. */
  tenures(partnerId: string, tenantId: string): Promise<readonly Tenure[]>;
  /** Days with usage in order. */
  days(tenantId: string, range: DayRange): AsyncIterable<MeteredDay>;
  /** Active users in all months that the range touches. */
  active(tenantId: string, range: DayRange): AsyncIterable<ActiveMonth>;
}

const DAY_MS = 86_400_000;

export const midnight = (day: string): string => `${day}T00:00:00.000Z`;
export const isMidnight = (instant: string): boolean => instant.endsWith('T00:00:00.000Z');

/** The days that a window touches. */
export const rangeOf = ({ from, to }: Window): DayRange => ({
  first: dayOf(from),
  last: dayOf(isMidnight(to) ? new Date(Date.parse(to) - DAY_MS).toISOString() : to),
});

/**
 * The parts of a day that lie entirely in the tenures. Undefined when events must be checked one by one: a hand-over of
 * the day has no part, or some events of the day precede an earlier day's hand-over in the log.
 */
export const partsDuring = (
  tenures: readonly Tenure[],
  { day, first, last, parts }: MeteredDay,
): readonly MeteredPart[] | undefined => {
  const handOvers = tenures.flatMap(({ from, to }) => [from, to]).filter((moment) => moment !== null);
  const isUncounted = ({ at, position }: Moment): boolean =>
    dayOf(at) === day
      ? !parts.some(({ from }) => from?.position === position)
      : dayOf(at) < day && first < position && position < last;
  if (handOvers.some(isUncounted)) return undefined;
  const isBehind = (moment: Moment): boolean => dayOf(moment.at) < day && moment.position < first;
  const isFirstOwn = tenures.some(
    ({ from, to }) => (from === null || isBehind(from)) && (to === null || !isBehind(to)),
  );
  return parts.filter(({ from }) => (from === null ? isFirstOwn : coversAfter(tenures, from)));
};
