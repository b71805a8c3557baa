import { matches, select } from '../../ports/event-filter.ts';
import type { EventFilter, EventStore, LogGrowth, Position, StoredEvent } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import { MEMORY } from '../../ports/memory.ts';
import { abortOf } from '../concurrency/abort.ts';
import { monotonic, nextTick } from '../runtime/timers.ts';
import {
  BehaviorSubject,
  concatMap,
  defer,
  filter as filterValues,
  finalize,
  lastValueFrom,
  map,
  Observable,
  share,
  takeWhile,
  tap,
} from '../rxjs.ts';
import { type BufferSize, PageBuffer, type Place } from './page-buffer.ts';
import { type Follower, type OlderPages, PAGE, PageReader, SCANNED } from './page-reader.ts';

/** Selected events. The log was read up to `position`, even if no event matched. */
export interface EventBatch {
  readonly events: readonly StoredEvent[];
  readonly position: Position;
  /** Whether the log ended at `position`. */
  readonly caughtUp: boolean;
}

export interface FollowOptions {
  /** Exclusive start; undefined for the start of the log. */
  readonly after?: Position | undefined;
  readonly filter?: EventFilter | undefined;
  /** Most events per batch (default 512). */
  readonly batchSize?: number | undefined;
  /** Reads at once instead of waiting until slower followers can share the pages. */
  readonly isUrgent?: boolean | undefined;
  /**
   * Called with the log's new end, instead of an empty batch, when a follower is idle and no new event matches its
   * filter. Returns false to get the empty batch.
   */
  readonly onPassed?: ((position: Position) => boolean) | undefined;
  readonly signal: AbortSignal;
}

/** All events of the log after the requested place up to `position`. */
export type LogPage = Pick<EventBatch, 'events' | 'position'>;

const DEFAULT_BATCH = 512;

const newFollower = ({ after, filter, batchSize, isUrgent, onPassed, signal }: FollowOptions): Follower => ({
  selection: select(filter),
  filter,
  limit: batchSize ?? DEFAULT_BATCH,
  isUrgent: isUrgent ?? false,
  onPassed,
  signal,
  place: after ?? '',
  caughtUp: false,
  batches: 0,
  busySince: undefined,
});

/**
 * Reads the log once per process for all followers (decision 30). New events are kept in a bounded buffer; followers
 * that are near each other share pages of older events. Each follower reads at its own pace.
 */
export class LogFollower {
  readonly #events: EventStore;
  readonly #live: PageBuffer;
  readonly #pages: PageReader;
  /** Wake-up callbacks of idle followers that have `onPassed`. */
  readonly #idle = new Map<Follower, () => void>();
  /** Emits after the log grew, when the buffer has the new events that the store passed. Shared by all followers. */
  readonly growth: Observable<void>;
  #growths = 0;
  /** Whether the log may have events after those in the buffer. */
  #hasMore = true;
  /** Position of the last event that the store announced; `''` for none. */
  #announced: Place = '';
  #woken = Promise.withResolvers<void>();

  constructor(deps: { events: EventStore; logger: Logger; live?: BufferSize; pages?: BufferSize }) {
    const { events, logger, live = MEMORY.tail, pages: size = MEMORY.pages } = deps;
    this.#events = events;
    this.#live = new PageBuffer(live);
    this.#pages = new PageReader({ events, logger, size, growths: () => this.#growths });
    this.growth = new Observable<LogGrowth | undefined>((observer) =>
      events.onGrowth((growth) => observer.next(growth)),
    ).pipe(
      tap({ subscribe: () => this.#forget(), next: (growth) => this.#keep(growth) }),
      map((growth) => this.#wakeAll(growth)),
      share(),
    );
  }

  /**
   * Calls `handle` with the events after `after`, then with new ones, in log order without gap or duplicate, one batch
   * at a time. Emits handled batches. Completes after the current batch when `signal` aborts; fails when `handle` does.
   * Failed reads are retried.
   */
  follow(
    options: FollowOptions,
    handle: (batch: EventBatch) => Promise<void> | void,
  ): Observable<EventBatch> {
    const { signal } = options;
    return defer(() => {
      const follower = newFollower(options);
      const rounds = new BehaviorSubject<void>(undefined);
      // Wakes a follower that waits for new events or for the store.
      const stopping = abortOf(signal).subscribe(() => {
        this.#pages.interrupt();
        this.#wakeAll();
      });
      const watching = this.growth.subscribe();
      this.#pages.enter(follower);
      return rounds.pipe(
        takeWhile(() => !signal.aborted),
        concatMap(() => this.#round(follower, handle)),
        tap(() => rounds.next()),
        filterValues((batch) => batch !== undefined),
        finalize(() => {
          this.#pages.leave(follower);
          watching.unsubscribe();
          stopping.unsubscribe();
        }),
      );
    });
  }

  /** Like {@link follow}; resolves when it completes. */
  async run(options: FollowOptions, handle: (batch: EventBatch) => Promise<void> | void): Promise<void> {
    await lastValueFrom(this.follow(options, handle), { defaultValue: undefined });
  }

  /** Reads older pages from another thread of this process instead of the store. */
  readOlderFrom(older: OlderPages): void {
    this.#pages.older = older;
  }

  /** Returns a function that reads pages for another thread and shares them with this thread's followers. */
  pagesFor(signal: AbortSignal): (after: Place) => Promise<LogPage | undefined> {
    const follower = newFollower({ batchSize: PAGE, signal });
    // Busy from the start, so that other followers wait at most `STILL_MS` for this follower, which may never read.
    follower.busySince = monotonic();
    this.#pages.enter(follower);
    let last: Promise<unknown> = Promise.resolve();
    const read = async (after: Place): Promise<LogPage | undefined> => {
      this.#pages.moved(follower, after);
      const page = await this.#pages.read(follower);
      follower.busySince = monotonic();
      follower.batches += 1;
      return page && { events: page.events, position: page.position };
    };
    // One at a time, since a follower has one place.
    return (after) => {
      const reading = last.then(() => read(after));
      last = reading.catch(() => undefined);
      return reading;
    };
  }

  /** Reads selected events after a place once, without sharing pages with followers. */
  async read(after: Place, filter: EventFilter, limit: number): Promise<Omit<EventBatch, 'caughtUp'>> {
    const from = after === '' ? undefined : after;
    return this.#events.scanAll({ from, filter, limit }, SCANNED);
  }

  /** Waits for the next batch and handles it; undefined when the follower was aborted. */
  async #round(
    follower: Follower,
    handle: (batch: EventBatch) => Promise<void> | void,
  ): Promise<EventBatch | undefined> {
    const batch = await this.#next(follower);
    if (batch === undefined) return undefined;
    follower.busySince = monotonic();
    follower.batches += 1;
    follower.caughtUp = batch.caughtUp;
    await handle(batch);
    this.#pages.moved(follower, batch.position);
    return batch;
  }

  async #next(follower: Follower): Promise<EventBatch | undefined> {
    // Yields between batches while catching up.
    if (!follower.caughtUp) await nextTick();
    const { selection, limit, signal } = follower;
    while (!signal.aborted) {
      const { place } = follower;
      const growths = this.#growths;
      const live = this.#live.take(place, selection, limit);
      if (live !== undefined) {
        return { events: live.events, position: live.position, caughtUp: this.#isEnd(live.position) };
      }
      if (!this.#isEnd(place)) {
        const page = await this.#pages.read(follower);
        if (page === undefined) break;
        const caughtUp = page.lastAt === this.#growths;
        if (page.position > place || (caughtUp && !follower.caughtUp)) {
          return { events: page.events, position: page.position, caughtUp };
        }
        // Reads again: a shared read may have begun before the last growth, for which no further wake-up comes.
        if (!caughtUp) continue;
      } else if (!follower.caughtUp && place !== '') {
        return { events: [], position: place, caughtUp: true };
      }
      if (growths !== this.#growths || signal.aborted) continue;
      // Followers without `onPassed` share one promise.
      if (follower.onPassed === undefined) await this.#woken.promise;
      else await new Promise<void>((wake) => this.#idle.set(follower, wake));
    }
    return undefined;
  }

  #isEnd(place: Position | ''): boolean {
    return !this.#hasMore && this.#live.last?.end === place;
  }

  /** Wakes the waiting followers, except those that {@link FollowOptions.onPassed} has moved to the new end. */
  #wakeAll(growth?: LogGrowth): void {
    for (const [follower, wake] of this.#idle) {
      if (growth !== undefined && this.#passes(follower, growth)) continue;
      this.#idle.delete(follower);
      wake();
    }
    const { resolve } = this.#woken;
    this.#woken = Promise.withResolvers();
    resolve();
  }

  #passes(follower: Follower, { after, events }: LogGrowth): boolean {
    const end = events.at(-1)?.position;
    const { place, caughtUp, selection, onPassed } = follower;
    if (end === undefined || !caughtUp || place !== after || !this.#isEnd(end)) return false;
    if (events.some((event) => matches(selection, event)) || onPassed?.(end) !== true) return false;
    follower.place = end;
    return true;
  }

  #forget(): void {
    this.#live.clear();
    this.#hasMore = true;
    this.#growths += 1;
  }

  #keep(growth: LogGrowth | undefined): void {
    const end = growth?.events.at(-1)?.position;
    // A repeated announcement does not tell where the log ends now.
    if (end !== undefined && end <= this.#announced) return;
    this.#growths += 1;
    this.#hasMore = growth === undefined;
    if (growth === undefined || end === undefined) return;
    this.#announced = end;
    if (this.#live.last?.end !== growth.after) this.#live.clear();
    this.#live.add({ ...growth, end });
    this.#live.trim();
  }
}
