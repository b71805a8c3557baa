import type { Measure } from './pricing.ts';
import type { Meter, Window } from './shapes.ts';

/** Usage in periods of time, and sums of a meter over chosen periods. */

/** Usage in a part of a calendar month (UTC). Periods of a customer do not overlap. */
export interface UsagePeriod {
  /** Instant at which the period begins. */
  readonly from: string;
  readonly counts: Readonly<Partial<Record<Meter, number>>>;
  /** Ids of people active in the period. */
  readonly users: ReadonlySet<string>;
}

export const isWithin = (instant: string, window: Window): boolean =>
  instant >= window.from && instant < window.to;

/** Instant at which the calendar month (UTC) begins. */
export const monthStart = (instant: string): string => `${instant.slice(0, 7)}-01T00:00:00.000Z`;

/** The parts of a window that no window of `taken` covers, in order. Windows of `taken` may overlap. */
export const gapsIn = (window: Window, taken: readonly Window[]): readonly Window[] => {
  const gaps: Window[] = [];
  let { from } = window;
  for (const each of taken.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    if (each.to <= from || each.from >= window.to) continue;
    if (each.from > from) gaps.push({ from, to: each.from });
    from = each.to;
  }
  if (from < window.to) gaps.push({ from, to: window.to });
  return gaps;
};

const distinct = (period: UsagePeriod, seen: ReadonlySet<string>): string[] =>
  [...period.users].filter((user) => !seen.has(user));

/**
 * Usage of a meter in the chosen periods, and its billable part. All usage of a calendar month, chosen or not, uses up
 * the included units in the order of time. A user counts once, in the first chosen period.
 * @param periods in the order of time, complete from the start of each month that has a chosen period
 */
export const measure = (
  periods: readonly UsagePeriod[],
  meter: Meter,
  isChosen: (period: UsagePeriod) => boolean,
  included: number,
): Measure => {
  const counted = new Set<string>();
  let [quantity, billable, used, month] = [0, 0, 0, ''];
  let before = new Set<string>();
  for (const period of periods) {
    if (monthStart(period.from) !== month) {
      month = monthStart(period.from);
      used = 0;
      before = new Set();
    }
    const users = meter === 'active_users';
    if (!isChosen(period)) {
      if (users) {
        for (const user of period.users) before.add(user);
        used = Math.max(used, before.size);
      } else used += period.counts[meter] ?? 0;
      continue;
    }
    const fresh = users ? distinct(period, counted) : [];
    const amount = users ? fresh.length : (period.counts[meter] ?? 0);
    for (const user of fresh) counted.add(user);
    if (users) for (const user of period.users) before.add(user);
    quantity += amount;
    billable += Math.max(0, amount - Math.max(0, included - used));
    used += amount;
  }
  return { quantity, billable };
};

/** Subtracts usage that was billed before; the result is never negative. */
export const subtract = (all: Measure, billed: Measure): Measure => {
  const quantity = Math.max(0, all.quantity - billed.quantity);
  return { quantity, billable: Math.min(quantity, Math.max(0, all.billable - billed.billable)) };
};
