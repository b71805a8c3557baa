import type { Meter } from '../../domain/billing/shapes.ts';
import { monthStart, type Slice } from '../../domain/billing/usage.ts';

/** Usage as it is put into slices. */
export class Tally {
  readonly #cuts: readonly string[];
  readonly #slices = new Map<string, { counts: Partial<Record<Meter, number>>; users: Set<string> }>();

  constructor(cuts: readonly string[]) {
    this.#cuts = cuts;
  }

  add(at: string, counts: Readonly<Partial<Record<Meter, number>>>): void {
    const slice = this.#at(at);
    if (slice === undefined) return;
    for (const [name, count] of Object.entries(counts)) {
      // The keys of such a record are meters.
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
    const next = this.#cuts.findIndex((cut) => cut > at);
    const cut = this.#cuts[next - 1];
    if (cut === undefined) return undefined;
    const month = monthStart(at);
    // The later of the two: both begin a part that this belongs to.
    const [, from = month] = [cut, month].sort();
    const slice = this.#slices.get(from) ?? { counts: {}, users: new Set<string>() };
    this.#slices.set(from, slice);
    return slice;
  }
}
