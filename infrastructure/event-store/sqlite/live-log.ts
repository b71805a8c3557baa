import type { DatabaseSync } from 'node:sqlite';
import type { GrowthListener } from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { Growth } from '../growth.ts';
import { formatPosition } from '../positions.ts';
import { LogState } from './log-state.ts';
import { Reader } from './reader.ts';
import type { Written } from './writer.ts';

/**
 * Notifies followers of this process's commits in the next tick. Finds commits of other processes and threads by
 * polling, which runs only while there are followers.
 */
export class LiveLog {
  readonly state: LogState;
  readonly reader: Reader;
  closed = false;
  readonly #growth = new Growth();
  readonly #pollMs: number;
  readonly #logger: Logger | undefined;
  /** The end of the log in the last notification. */
  #announced: number;
  /** Number of this process's commits that are not announced yet. */
  #unannounced = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(db: DatabaseSync, { pollMs, logger }: { pollMs: number; logger: Logger | undefined }) {
    this.state = new LogState(db);
    this.reader = new Reader(db, this.state);
    this.#pollMs = pollMs;
    this.#logger = logger;
    this.#announced = this.state.end;
  }

  /** Looks for writes of other processes. @returns the position of the last event, 0 for none */
  refresh(): number {
    this.state.sync();
    this.#announceOthers();
    return this.state.end;
  }

  /** Announces a committed transaction to followers, one tick after its callers are answered. */
  announce(written: Written): void {
    this.#unannounced += 1;
    setImmediate(() => {
      this.#unannounced -= 1;
      this.#announce(written);
    });
  }

  /**
   * Does nothing while commits of this process are unannounced: the announcement of these commits carries the events,
   * so that followers need not read them.
   */
  #announceOthers(): void {
    if (this.#unannounced > 0 || this.state.end === this.#announced) return;
    this.#announced = this.state.end;
    this.#growth.notify();
  }

  #announce({ first, events }: Written): void {
    if (this.closed) return;
    if (events.length === 0) {
      this.poll();
      return;
    }
    // Another process may have written before this commit.
    const isNext = this.#announced === first - 1;
    this.#announced = Math.max(this.#announced, first + events.length - 1);
    this.#growth.notify(isNext ? { after: formatPosition(first - 1), events } : undefined);
    this.#announceOthers();
  }

  onGrowth(listener: GrowthListener): () => void {
    this.#timer ??= setInterval(() => this.poll(), this.#pollMs).unref();
    const leave = this.#growth.subscribe(listener);
    return () => {
      leave();
      if (!this.#growth.hasListeners) this.#stopPolling();
    };
  }

  close(): void {
    this.closed = true;
    this.#stopPolling();
  }

  /** Like {@link refresh}, but only logs a failure, since the next poll follows. */
  poll(): void {
    if (this.closed) return;
    try {
      this.refresh();
    } catch (error) {
      this.#logger?.warn({ err: error }, 'event log could not be polled');
    }
  }

  #stopPolling(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
