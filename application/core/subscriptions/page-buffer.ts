import { matches, type Selection } from '../../ports/event-filter.ts';
import type { Position, StoredEvent } from '../../ports/event-store.ts';

/** A place in the log: the position of the last event before it; `''` is before the first event. */
export type Place = Position | '';

/** A gapless part of the log: every event after `after`, up to `end`. */
export interface Page {
  readonly after: Place;
  readonly end: Position;
  readonly events: readonly StoredEvent[];
  /** The number of growths of the log at which `end` was its end; undefined where more followed. */
  readonly lastAt?: number | undefined;
}

/** A part of the buffer as one follower sees it. */
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

/** Pages of the log in memory, in order and without overlap; there may be gaps between them. Bounded in events and bytes. */
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
    // A UTF-16 unit of Latin text takes one byte, of other text two.
    return this.#count > this.#size.maxCount || this.#units * 2 > this.#size.maxBytes;
  }

  /** Adds a page; the part of it that the buffer holds already is left out. */
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

  /** Drops the oldest pages until the rest fits; the last one stays. */
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
   * Selects from `place` on, over as many pages as follow each other without a gap, until `limit` events are found.
   * Undefined where the buffer does not hold what comes after `place`.
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

  /** The first index of a page that begins beyond `place`. */
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
