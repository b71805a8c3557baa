import type { Selection } from '../../ports/event-filter.ts';
import type { EventFilter, EventStore, Position, ScanPage } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import { retryConfig, STORE_AWAY } from '../concurrency/retry-policy.ts';
import { monotonic, timer } from '../runtime/timers.ts';
import { defer, firstValueFrom, merge, retry, Subject, takeUntil, tap } from '../rxjs.ts';
import { type BufferSize, type Excerpt, type Page, PageBuffer, type Place } from './page-buffer.ts';

/** A follower of the log and its place. */
export interface Follower {
  readonly selection: Selection | undefined;
  readonly filter: EventFilter | undefined;
  /** Most events per batch. */
  readonly limit: number;
  /** Reads at once instead of waiting to share a page. */
  readonly isUrgent: boolean;
  /** See `FollowOptions.onPassed`. */
  readonly onPassed: ((position: Position) => boolean) | undefined;
  readonly signal: AbortSignal;
  place: Place;
  /** Whether the follower's last batch ended at the end of the log. */
  caughtUp: boolean;
  /** Batches handled. */
  batches: number;
  /** When (ms of the process) the follower got the batch that it handles; undefined while it waits for a batch. */
  busySince: number | undefined;
}

/** Pages that another thread of this process reads and shares with its own followers (decision 30). */
export interface OlderPages {
  /** Only pages that begin before this position are read from the other thread. */
  readonly before: Position;
  /** The events after a place; empty when the other thread has no further events. */
  read(after: Place): Promise<Pick<ScanPage, 'events' | 'position'>>;
}

/** Most events of a page that followers share. */
export const PAGE = 1000;
/** Most events that one read scans. */
export const SCANNED = 16_384;
/** When a follower handles one batch for longer than this (ms), other followers do not wait for it. */
const STILL_MS = 1000;
/** Followers that start within this time (ms) of one another read the log together. */
const COALESCE_MS = 100;
/** A waiting follower checks again after this time (ms). */
const POLL_MS = 100;

/**
 * Reads older events page by page. Followers at the same place share a page. While the buffer is full, the follower at
 * the front waits for followers that still need buffered pages, so that the log is read about once. A follower that has
 * no other follower near it reads only the events that it selects.
 */
export class PageReader {
  readonly #events: EventStore;
  readonly #logger: Logger;
  readonly #growths: () => number;
  readonly #buffer: PageBuffer;
  readonly #reading = new Map<Place, Promise<Page | undefined>>();
  readonly #interrupted = new Subject<void>();
  readonly #followers = new Set<Follower>();
  readonly #moved = new Subject<void>();
  #lastBegan = Number.NEGATIVE_INFINITY;
  #isAway = false;
  /** Undefined when every page is read from the store. */
  older: OlderPages | undefined;

  /** @param growths counts the growths of the log that this process has seen */
  constructor(deps: { events: EventStore; logger: Logger; size: BufferSize; growths: () => number }) {
    this.#events = deps.events;
    this.#logger = deps.logger;
    this.#growths = deps.growths;
    this.#buffer = new PageBuffer(deps.size);
  }

  enter(follower: Follower): void {
    this.#followers.add(follower);
    this.#lastBegan = monotonic();
  }

  leave(follower: Follower): void {
    this.#followers.delete(follower);
    if (this.#followers.size === 0) this.#buffer.clear();
    this.#moved.next();
  }

  /** Ends running reads because a follower stops; the other followers then read again. */
  interrupt(): void {
    this.#interrupted.next();
  }

  /** Records that a follower has handled its batch. */
  moved(follower: Follower, place: Place): void {
    follower.place = place;
    follower.busySince = undefined;
    this.#moved.next();
  }

  /**
   * Selected events after the follower's place, perhaps none. The log was read up to `position`, which is the place
   * itself at the end of the log. Undefined when the follower was aborted.
   */
  async read(follower: Follower): Promise<Excerpt | undefined> {
    const { place, selection, limit, signal } = follower;
    while (!signal.aborted) {
      const found = this.#buffer.take(place, selection, limit);
      if (found !== undefined) return found;
      let reading = this.#reading.get(place);
      if (reading === undefined) {
        if (this.#mustWait(follower)) {
          await firstValueFrom(merge(this.#moved, timer(POLL_MS)));
          continue;
        }
        if (follower.batches > 0 && this.#companyOf(follower).length === 0) {
          const page = await this.#read(place, follower.filter, limit);
          if (page === undefined) continue;
          return excerptOf(page);
        }
        reading = this.#readShared(place);
      }
      const page = await reading;
      if (page !== undefined && page.end <= place) return excerptOf(page);
    }
    return undefined;
  }

  #mustWait(follower: Follower): boolean {
    if (follower.caughtUp || follower.isUrgent) return false;
    const isCoalescing = this.#followers.size > 1 && monotonic() - this.#lastBegan < COALESCE_MS;
    if (isCoalescing && follower.batches > 0) return true;
    if (!this.#buffer.isOver) return false;
    const needed = this.#needed();
    this.#buffer.dropWhere((page) => !needed.has(page));
    return this.#buffer.isOver && this.#companyOf(follower).some(({ place }) => place < follower.place);
  }

  /** Pages in which an active follower is, and the pages that follow these without a gap. */
  #needed(): ReadonlySet<Page> {
    const active = [...this.#followers].filter(isActive);
    const needed = new Set<Page>();
    let before: Page | undefined;
    for (const page of this.#buffer.pages) {
      const isReached = before !== undefined && needed.has(before) && before.end === page.after;
      if (isReached || active.some(({ place }) => place >= page.after && place < page.end)) needed.add(page);
      before = page;
    }
    return needed;
  }

  /** Other active followers at this follower's place, and those that reach the place by reading buffered pages. */
  #companyOf(follower: Follower): readonly Follower[] {
    const { place } = follower;
    let from = place;
    for (const { after, end } of this.#buffer.pages.toReversed()) if (end === from) from = after;
    return [...this.#followers].filter(
      (other) => other !== follower && other.place >= from && other.place <= place && isActive(other),
    );
  }

  #readShared(place: Place): Promise<Page | undefined> {
    const reading = this.#read(place, undefined, PAGE)
      .then((page) => {
        if (page === undefined) return page;
        if (this.#buffer.isOver) {
          const needed = this.#needed();
          this.#buffer.dropWhere((one) => !needed.has(one));
          this.#buffer.trim();
        }
        this.#buffer.add(page);
        return page;
      })
      .finally(() => this.#reading.delete(place));
    this.#reading.set(place, reading);
    return reading;
  }

  /** Retries a failed read until interrupted, and logs the failure once. */
  #read(place: Place, filter: EventFilter | undefined, limit: number): Promise<Page | undefined> {
    const scan = defer(async (): Promise<Page> => {
      const growths = this.#growths();
      const from = place === '' ? undefined : place;
      if (filter === undefined && this.older !== undefined && place < this.older.before) {
        const { events, position } = await this.older.read(place);
        if (position > place) return { after: place, end: position, events };
      }
      const { events, position, next } = await this.#events.scanAll({ from, filter, limit }, SCANNED);
      if (this.#isAway) this.#logger.info({ after: place }, 'the event log can be read again');
      this.#isAway = false;
      return { after: place, end: position, events, lastAt: next === undefined ? growths : undefined };
    });
    const logFailure = (error: unknown): void => {
      if (!this.#isAway) this.#logger.warn({ err: error, after: place }, 'the event log could not be read');
      this.#isAway = true;
    };
    const tried = scan.pipe(
      tap({ error: logFailure }),
      retry(retryConfig(STORE_AWAY)),
      takeUntil(this.#interrupted),
    );
    return firstValueFrom(tried, { defaultValue: undefined });
  }
}

const excerptOf = ({ events, end, lastAt }: Page): Excerpt => ({ events, position: end, lastAt });

const isActive = ({ busySince }: Follower): boolean =>
  busySince === undefined || monotonic() - busySince < STILL_MS;
