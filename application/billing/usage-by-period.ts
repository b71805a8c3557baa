import type { Meter } from '../../domain/billing/shapes.ts';
import { monthStart, type UsagePeriod } from '../../domain/billing/usage.ts';

/** Sums usage into periods. */
export class UsageByPeriod {
  readonly #cuts: readonly string[];
  readonly #periods = new Map<string, { counts: Partial<Record<Meter, number>>; users: Set<string> }>();

  constructor(cuts: readonly string[]) {
    this.#cuts = cuts;
  }

  add(at: string, counts: Readonly<Partial<Record<Meter, number>>>): void {
    const period = this.#at(at);
    if (period === undefined) return;
    for (const [name, count] of Object.entries(counts)) {
      // The cast holds: all keys of `counts` are meters.
      const meter = name as Meter;
      period.counts[meter] = (period.counts[meter] ?? 0) + count;
    }
  }

  addUser(at: string, user: string): void {
    this.#at(at)?.users.add(user);
  }

  periods(): readonly UsagePeriod[] {
    return [...this.#periods]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([from, period]) => ({ from, ...period }));
  }

  #at(at: string) {
    const next = this.#cuts.findIndex((each) => each > at);
    const cut = this.#cuts[next - 1];
    // Usage before the first cut, and usage at or after the last cut, is not counted.
    if (cut === undefined) return undefined;
    const month = monthStart(at);
    // A period begins at the cut or at the start of the month, whichever is later.
    const [, from = month] = [cut, month].sort();
    const period = this.#periods.get(from) ?? { counts: {}, users: new Set<string>() };
    this.#periods.set(from, period);
    return period;
  }
}
