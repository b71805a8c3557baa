import type { AllStreamResolvedEvent, Position as LogPosition } from '@eventstore/db-client';
import { onceEnded, type SubscriptionSource } from './connection.ts';

export interface Chunk {
  readonly events: readonly AllStreamResolvedEvent[];
  /** Newest position up to which the server had scanned by the last of `events`; undefined if there is no new one. */
  readonly checkpoint: LogPosition | undefined;
}

interface Mark {
  /** Applies once this many events have been taken. */
  readonly after: number;
  readonly checkpoint?: LogPosition | undefined;
  readonly live?: boolean | undefined;
}

/**
 * Pulls events from one subscription. Checkpoints and `caughtUp` arrive while earlier events are still buffered, so
 * each becomes a mark that applies after these events. A position is therefore never ahead of the consumer.
 */
export class Feed {
  /** True between the server's `caughtUp` and `fellBehind`. */
  live = false;
  #taken = 0;
  #marks: Mark[] = [];
  #over: Error | undefined;
  #wake: () => void = () => {};
  readonly #source: SubscriptionSource;

  constructor(open: (onCheckpoint: (position: LogPosition) => void) => SubscriptionSource) {
    const source = open((checkpoint) => this.#mark({ checkpoint }));
    this.#source = source;
    // Attached before any await: an `error` event without a listener ends the process.
    onceEnded(source, (reason) => this.#end(reason instanceof Error ? reason : new Error(String(reason))));
    source.on('caughtUp', () => this.#mark({ live: true }));
    source.on('fellBehind', () => this.#mark({ live: false }));
    source.on('readable', () => this.#wake());
  }

  get isDrained(): boolean {
    return this.#source.readableLength === 0;
  }

  /**
   * Takes at most `limit` events without waiting.
   * @throws when the subscription has ended and all its events were taken
   */
  take(limit: number): Chunk {
    const events: AllStreamResolvedEvent[] = [];
    while (events.length < limit) {
      const event = this.#source.read();
      if (event === null) break;
      this.#taken += 1;
      events.push(event);
    }
    const checkpoint = this.#passMarks();
    if (events.length === 0 && checkpoint === undefined && this.#over) throw this.#over;
    return { events, checkpoint };
  }

  /** Resolves with true when there may be events to take, and with false at the timeout. */
  wait(timeoutMs: number): Promise<boolean> {
    if (this.#over !== undefined || !this.isDrained) return Promise.resolve(true);
    return new Promise((resolve) => {
      const done = (inTime: boolean): void => {
        clearTimeout(timer);
        this.#wake = () => {};
        resolve(inTime);
      };
      const timer = setTimeout(done, timeoutMs, false).unref();
      this.#wake = () => done(true);
    });
  }

  close(): void {
    this.#source.unsubscribe().catch(() => {});
  }

  #mark(mark: Omit<Mark, 'after'>): void {
    this.#marks.push({ ...mark, after: this.#taken + this.#source.readableLength });
    this.#wake();
  }

  #passMarks(): LogPosition | undefined {
    let checkpoint: LogPosition | undefined;
    let passed = 0;
    for (const mark of this.#marks) {
      if (mark.after > this.#taken) break;
      checkpoint = mark.checkpoint ?? checkpoint;
      this.live = mark.live ?? this.live;
      passed += 1;
    }
    if (passed > 0) this.#marks = this.#marks.slice(passed);
    return checkpoint;
  }

  #end(reason: Error): void {
    this.#over ??= reason;
    this.#wake();
  }
}
