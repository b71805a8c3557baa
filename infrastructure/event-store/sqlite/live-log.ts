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

/**
 * A gap of at most so many events, left by another process or thread, is read into the tail, in one step of the reader; a
 * larger one empties it, and each subscriber reads for itself.
 */
const MAX_GAP = 1000;

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
  /** The head that subscribers were last woken for. */
  #announced = 0;
  #watchers = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(
    db: DatabaseSync,
    { pollMs, tailEvents, logger }: { pollMs: number; tailEvents: number; logger: Logger | undefined },
  ) {
    this.state = new LogState(db);
    this.#tail = new Tail(tailEvents);
    this.reader = new Reader(db, this.state, this.#tail);
    this.#pollMs = pollMs;
    this.#logger = logger;
    this.#tail.restart(this.state.head + 1);
  }

  scan(after: number, selection: Selection | undefined, limit: number): Page {
    this.refresh();
    return this.reader.forward(after, selection, limit);
  }

  /** Looks for other processes' writes; answers the position of the last event, 0 for none. */
  refresh(): number {
    if (this.state.sync()) this.#fillTail(this.state.head);
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

  watch(): () => void {
    this.#watchers += 1;
    this.#timer ??= setInterval(() => this.poll(), this.#pollMs).unref();
    return () => {
      this.#watchers -= 1;
      if (this.#watchers === 0) this.#stopPolling();
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
   * Makes the tail reach `last`, which another process wrote; without subscribers nobody would read that. Never
   * throws, because the commit it follows is done: a tail that cannot be filled starts anew.
   */
  #fillTail(last: number): void {
    const next = this.#tail.end;
    if (next > last) return;
    const gap = last - next + 1;
    const events = this.#watchers > 0 && gap <= MAX_GAP ? this.#readGap(next, gap) : [];
    let position = next;
    for (const event of events) this.#tail.push(position++, event);
    if (position <= last) this.#tail.restart(last + 1);
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
