import { type CountEntries, entriesIn, type Place, placeOf } from './segments.ts';

/** Entries at least that a segment counts for: its statements take time as well. */
const LEAST = 16;

/**
 * Counts the entries that a plan needs in steps, since SQLite blocks this thread. After a step that was too short, the
 * plan is made again, and the count continues where it stopped.
 */
export class EntryCounts {
  readonly #atOnce: number;
  readonly #known = new Map<string, { entries: number; after: Place | undefined; isOver: boolean }>();
  #left = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  /** Makes a plan with the counts so far; undefined when further steps are needed. */
  step<T>(make: (count: CountEntries) => T): T | undefined {
    this.#left = this.#atOnce;
    let isComplete = true;
    const made = make((tables, segment, most) => {
      if ('ids' in segment) return segment.ids.length;
      const key = JSON.stringify(segment);
      const known = this.#known.get(key) ?? { entries: 0, after: undefined, isOver: false };
      this.#known.set(key, known);
      while (!known.isOver && known.entries < most) {
        if (this.#left <= 0) {
          isComplete = false;
          return most;
        }
        const limit = Math.min(this.#left, most - known.entries);
        const last = placeOf(tables, segment, known.after, limit, 'ASC');
        const counted = last === undefined ? entriesIn(tables, segment, limit, known.after) : limit;
        known.entries += counted;
        known.after = last;
        known.isOver = last === undefined;
        this.#left -= Math.max(LEAST, counted);
      }
      return known.entries;
    });
    return isComplete ? made : undefined;
  }
}
