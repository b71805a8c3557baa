import type { DatabaseSync } from 'node:sqlite';
import type { StoredEvent } from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import type { Selection } from '../filters.ts';
import type { Log, Page } from '../follow.ts';
import { Wakeup } from '../wakeup.ts';
import { LogState } from './log-state.ts';
import { Reader } from './reader.ts';
import { Tail } from './tail.ts';
import type { Written } from './writer.ts';

/** Of what another process or thread wrote, so many events are read into the tail at a time, in one step of the reader. */
const MAX_GAP = 1000;
/** The tail does not wait for a subscriber that stands still for so long. */
const STILL_MS = 1000;
/** Of a subscriber that reads from the tail: so many batches fit into it, so that those who read it stay together. */
const BATCHES = 4;
const NOBODY = { reached: -1, since: 0 };

/**
 * The log as its subscribers see it: it grows by this process's commits, which it is told of, and by those of
 * other processes, which it finds by polling while somebody watches.
 */
export class LiveLog implements Log {
  readonly growth = new Wakeup();
  readonly state: LogState;
  readonly reader: Reader;
  closed = false;
  readonly #tail: Tail;
  readonly #pollMs: number;
  readonly #logger: Logger | undefined;
  readonly #tailEvents: number;
  /** How far each of those who watch has come. */
  readonly #watchers = new Set<() => number>();
  /** The subscriber that the tail waits for, and since when. */
  #slowest = NOBODY;
  /** The head that subscribers were last woken for. */
  #announced = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    db: DatabaseSync,
    { pollMs, tailEvents, logger }: { pollMs: number; tailEvents: number; logger: Logger | undefined },
  ) {
    this.state = new LogState(db);
    this.#tail = new Tail(tailEvents);
    this.#tailEvents = tailEvents;
    this.reader = new Reader(db, this.state, this.#tail);
    this.#pollMs = pollMs;
    this.#logger = logger;
    this.#tail.restart(this.state.head + 1);
  }

  scan(after: number, selection: Selection | undefined, limit: number): Page {
    this.refresh();
    const isInTail = this.#tail.holds(after + 1);
    return this.reader.forward(
      after,
      selection,
      isInTail ? Math.min(limit, Math.ceil(this.#tailEvents / BATCHES)) : limit,
    );
  }

  /** Looks for other processes' writes; answers the position of the last event, 0 for none. */
  refresh(): number {
    this.state.sync();
    if (this.#tail.end <= this.state.head) this.#readOn();
    else this.#slowest = NOBODY;
    this.#announce();
    return this.state.head;
  }

  /** Hears of a transaction of this process, after its commit. */
  take({ first, events }: Written): void {
    if (events.length > 0) {
      this.#fillTail(first - 1);
      let position = first;
      for (const event of events) this.#tail.push(position++, event);
    }
    this.#announce();
  }

  watch(reached: () => number): () => void {
    this.#watchers.add(reached);
    this.#timer ??= setInterval(() => this.poll(), this.#pollMs).unref();
    return () => {
      this.#watchers.delete(reached);
      if (this.#watchers.size === 0) this.#stopPolling();
    };
  }

  close(): void {
    this.closed = true;
    this.#stopPolling();
    this.growth.wake();
  }

  /** As {@link refresh}; a failure is only logged, since the next poll comes soon. */
  poll(): void {
    if (this.closed) return;
    try {
      this.refresh();
    } catch (error) {
      this.#logger?.warn({ err: error }, 'event log could not be polled');
    }
  }

  /** Wakes the subscribers when the log has grown, whoever noticed it first. */
  #announce(): void {
    if (this.state.head === this.#announced) return;
    this.#announced = this.state.head;
    this.growth.wake();
  }

  #stopPolling(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /**
   * Reads into the tail what another process or thread wrote, but no further than its room behind the slowest of those who
   * read from it: so each event is read, and decoded, once for all of them. Who is not held up reads on by itself.
   */
  #readOn(): void {
    const { head } = this.state;
    const { first, end } = this.#tail;
    const readers = [...this.#watchers]
      .map((reached) => reached())
      .filter((at) => at >= first - 1 && at < end);
    if (readers.length === 0 && head - end >= MAX_GAP) {
      this.#tail.restart(head + 1);
      return;
    }
    const slowest = Math.min(head, ...readers);
    if (slowest !== this.#slowest.reached) this.#slowest = { reached: slowest, since: performance.now() };
    const isStill = performance.now() - this.#slowest.since > STILL_MS;
    const last = isStill ? head : Math.min(head, slowest + this.#tailEvents);
    if (last >= end) this.#fillTail(Math.min(last, end + MAX_GAP - 1));
  }

  /**
   * Makes the tail reach `last`, which another process wrote; without subscribers nobody would read that. Never
   * throws, because the commit it follows is done: a tail that cannot be filled starts anew. Large events are more than
   * one step: the rest of them comes with the next.
   */
  #fillTail(last: number): void {
    const next = this.#tail.end;
    if (next > last) return;
    const gap = last - next + 1;
    const events = this.#watchers.size > 0 && gap <= MAX_GAP ? this.#readGap(next, gap) : [];
    let position = next;
    for (const event of events) this.#tail.push(position++, event);
    if (events.length === 0) this.#tail.restart(last + 1);
  }

  #readGap(next: number, count: number): readonly StoredEvent[] {
    try {
      return this.reader.forward(next - 1, undefined, count).events;
    } catch (error) {
      this.#logger?.warn({ err: error }, 'event log could not be read after another process wrote');
      return [];
    }
  }
}
