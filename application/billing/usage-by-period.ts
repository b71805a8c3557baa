import type { Meter } from '../../domain/billing/shapes.ts';
import { monthStart, type Slice } from '../../domain/billing/usage.ts';

/** Sums usage into slices. */
export class UsageByPeriod {
  readonly #cuts: readonly string[];
  readonly #slices = new Map<string, { counts: Partial<Record<Meter, number>>; users: Set<string> }>();

  constructor(cuts: readonly string[]) {
    this.#cuts = cuts;
  }

  add(at: string, counts: Readonly<Partial<Record<Meter, number>>>): void {
    const slice = this.#at(at);
    if (slice === undefined) return;
    for (const [name, count] of Object.entries(counts)) {
      // The cast holds: all keys of `counts` are meters.
      const meter = name as Meter;
      slice.counts[meter] = (slice.counts[meter] ?? 0) + count;
    }
  }

  meet(at: string, user: string): void {
    this.#at(at)?.users.add(user);
  }

  slices(): readonly Slice[] {
    return [...this.#slices]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([from, slice]) => ({ from, ...slice }));
  }

  #at(at: string) {
    const next = this.#after(at);
    const cut = this.#cuts[next - 1];
    // Usage before the first cut or after the last one is not counted.
    if (cut === undefined || next === this.#cuts.length) return undefined;
    const month = monthStart(at);
    // A slice begins at the cut or at the start of the month, whichever is later.
    const [, from = month] = [cut, month].sort();
    const slice = this.#slices.get(from) ?? { counts: {}, users: new Set<string>() };
    this.#slices.set(from, slice);
    return slice;
  }

  /** Index of the first cut after an instant, by binary search: there may be hundreds of cuts. */
  #after(at: string): number {
    let [low, high] = [0, this.#cuts.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#cuts[middle] ?? '') > at) high = middle;
      else low = middle + 1;
    }
    return low;
  }
}
