import { matches, type Selection } from '../../ports/event-filter.ts';
import type { Position, StoredEvent } from '../../ports/event-store.ts';

/** A place in the log: the position of the last event before it; `''` for the start of the log. */
export type Place = Position | '';

/** All events of the log after `after` up to `end`. */
export interface Page {
  readonly after: Place;
  readonly end: Position;
  readonly events: readonly StoredEvent[];
  /** How often the log had grown when `end` was its end; undefined when more events followed. */
  readonly lastAt?: number | undefined;
}

/** Events of the buffer that one follower selects. */
export interface Excerpt {
  readonly events: readonly StoredEvent[];
  readonly position: Position;
  readonly lastAt: number | undefined;
}

export interface BufferSize {
  readonly maxCount: number;
  readonly maxBytes: number;
}

const unitsOf = ({ events }: Page): number => {
  let units = 0;
  for (const { data, metadata } of events) units += data.length + metadata.length;
  return units;
};

/** Pages of the log in order, possibly with gaps. `trim` bounds the number of events and their bytes. */
export class PageBuffer {
  readonly #size: BufferSize;
  #pages: Page[] = [];
  #count = 0;
  #units = 0;

  constructor(size: BufferSize) {
    this.#size = size;
  }

  get pages(): readonly Page[] {
    return this.#pages;
  }

  get first(): Page | undefined {
    return this.#pages[0];
  }

  get last(): Page | undefined {
    return this.#pages.at(-1);
  }

  get isOver(): boolean {
    // Counts two bytes per UTF-16 unit, as for text that is not Latin-1.
    return this.#count > this.#size.maxCount || this.#units * 2 > this.#size.maxBytes;
  }

  /** Adds a page, cut where the next buffered page begins. */
  add(page: Page): void {
    const at = this.#indexAfter(page.after);
    const following = this.#pages[at];
    const cut =
      following === undefined || following.after === '' || following.after >= page.end
        ? page
        : { ...page, end: following.after, events: upTo(page.events, following.after), lastAt: undefined };
    if (cut.end <= cut.after) return;
    this.#pages.splice(at, 0, cut);
    this.#count += cut.events.length;
    this.#units += unitsOf(cut);
  }

  /** Evicts the oldest pages until the rest fits; the last page always stays. */
  trim(): void {
    while (this.isOver && this.#pages.length > 1) this.dropWhere((_, index) => index === 0);
  }

  dropWhere(isDropped: (page: Page, index: number) => boolean): void {
    this.#pages = this.#pages.filter((page, index) => {
      if (!isDropped(page, index)) return true;
      this.#count -= page.events.length;
      this.#units -= unitsOf(page);
      return false;
    });
  }

  clear(): void {
    this.dropWhere(() => true);
  }

  /**
   * Selects up to `limit` events after `place` over consecutive pages. Undefined when the buffer does not hold the
   * event after `place`.
   */
  take(place: Place, selection: Selection | undefined, limit: number): Excerpt | undefined {
    let at = this.#indexAfter(place) - 1;
    let page = this.#pages[at];
    if (page === undefined || page.end <= place) return undefined;
    const events: StoredEvent[] = [];
    for (;;) {
      for (const event of page.events) {
        if (event.position <= place || !matches(selection, event)) continue;
        events.push(event);
        if (events.length >= limit && event.position !== page.end) {
          return { events, position: event.position, lastAt: undefined };
        }
      }
      const next: Page | undefined = this.#pages[at + 1];
      if (events.length >= limit || next === undefined || next.after !== page.end) {
        return { events, position: page.end, lastAt: page.lastAt };
      }
      page = next;
      at += 1;
    }
  }

  /** The index of the first page that starts beyond `place`. */
  #indexAfter(place: Place): number {
    let [low, high] = [0, this.#pages.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#pages[middle]?.after ?? '') <= place) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

const upTo = (events: readonly StoredEvent[], end: Position): readonly StoredEvent[] =>
  events.filter(({ position }) => position <= end);
