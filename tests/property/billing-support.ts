import fc from 'fast-check';
import type { Window } from '../../domain/billing/shapes.ts';
import { ACME, BETA, USED } from '../application/billing/metered.ts';

/** Usage and windows of late October to early December. */

const STEP = 6 * 3_600_000;
const BEGIN = Date.UTC(2026, 9, 28);
/** Number of steps, six hours each: at midnights, ends of months, and times in between. */
export const STEPS = 4 * 38;

export const instantAt = (step: number, more = 0): string =>
  new Date(BEGIN + step * STEP + more).toISOString();

export const ALL: Window = { from: instantAt(0), to: instantAt(STEPS) };

export const window = fc
  .tuple(fc.nat(STEPS - 1), fc.integer({ min: 1, max: 60 }))
  .map(([from, length]): Window => {
    const to = Math.min(STEPS, from + length);
    return { from: instantAt(from), to: instantAt(to) };
  });

export const overlap = (a: Window, b: Window): boolean => a.from < b.to && b.from < a.to;

export const customer = fc.constantFrom(ACME, ACME, BETA);

/** Usage by one of `people`. */
export const useOf = (...people: readonly string[]) =>
  fc.record({
    meter: fc.constantFrom(...USED),
    // Odd moments, and the exact bounds of windows.
    at: fc
      .tuple(fc.nat(STEPS - 1), fc.constantFrom(0, 1, STEP - 1))
      .map(([step, more]) => instantAt(step, more)),
    user: fc.constantFrom(...people),
    tenantId: customer,
    impersonated: fc.constantFrom(false, false, false, true),
  });
