import {
  type AppendResult,
  type ExpectedRevision,
  type NewEvent,
  StoreUnavailable,
  type StreamAppend,
} from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { isTransient, unavailable } from '../../sqlite/errors.ts';
import type { Written } from './writer.ts';

interface Waiting extends StreamAppend {
  readonly since: number;
  readonly resolve: (result: AppendResult) => void;
  readonly reject: (error: Error) => void;
}

/** Bounds of one transaction, so that many appends do not block the event loop. */
const MAX_EVENTS = 512;
const MAX_UNITS = 256 * 1024;
const RETRY_MS = 3;

/**
 * Collects the appends that a caller adds in one synchronous run of code, and writes them in one transaction in the
 * microtask after it; appends above its bounds follow in the next ticks. The caller is the group commit
 * (application/core/commands/group-commit.ts).
 */
export class AppendQueue {
  #waiting: Waiting[] = [];
  #scheduled = false;
  #idle: (() => void)[] = [];
  readonly #write: (appends: readonly StreamAppend[]) => Written;
  readonly #lockTimeoutMs: number;
  readonly #logger: Logger | undefined;

  /** @param lockTimeoutMs how long (ms) an append waits for another process's lock */
  constructor(
    write: (appends: readonly StreamAppend[]) => Written,
    lockTimeoutMs: number,
    logger: Logger | undefined,
  ) {
    this.#write = write;
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#logger = logger;
  }

  add(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ stream, expected, events, since: performance.now(), resolve, reject });
      this.#schedule(queueMicrotask);
    });
  }

  /** Resolves when the queue is empty. */
  drained(): Promise<void> {
    if (this.#waiting.length === 0) return Promise.resolve();
    return new Promise((resolve) => this.#idle.push(resolve));
  }

  #schedule(run: (flush: () => void) => void): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    run(this.#flush);
  }

  readonly #flush = (): void => {
    this.#scheduled = false;
    const batch = this.#nextBatch();
    try {
      this.#settle(batch, this.#write(batch));
    } catch (error) {
      if (isTransient(error)) this.#waitForLock(error);
      else this.#refuse(batch, error);
    }
    if (this.#waiting.length > 0) this.#schedule(setImmediate);
    else for (const resolve of this.#idle.splice(0)) resolve();
  };

  #settle(batch: readonly Waiting[], { outcomes }: Written): void {
    this.#waiting = this.#waiting.slice(batch.length);
    outcomes.forEach((outcome, i) => {
      if (outcome instanceof Error) batch[i]?.reject(outcome);
      else batch[i]?.resolve(outcome);
    });
  }

  #refuse(batch: readonly Waiting[], error: unknown): void {
    this.#waiting = this.#waiting.slice(batch.length);
    this.#logger?.error({ err: error, appends: batch.length }, 'a transaction on the event log failed');
    for (const append of batch) append.reject(unavailable('event log could not be written', error));
  }

  #nextBatch(): readonly Waiting[] {
    let events = 0;
    let units = 0;
    let count = 0;
    for (const append of this.#waiting) {
      events += append.events.length;
      for (const event of append.events) units += event.data.length + event.metadata.length;
      if (count > 0 && (events > MAX_EVENTS || units > MAX_UNITS)) break;
      count += 1;
    }
    return count === this.#waiting.length ? this.#waiting : this.#waiting.slice(0, count);
  }

  /** Another process holds the lock: keeps appends queued, and rejects those past their deadline. */
  #waitForLock(cause: unknown): void {
    const tooOld = performance.now() - this.#lockTimeoutMs;
    this.#waiting = this.#waiting.filter((append) => {
      if (append.since > tooOld) return true;
      append.reject(new StoreUnavailable('event log is locked by another process', { cause }));
      return false;
    });
    if (this.#waiting.length === 0) return;
    this.#scheduled = true;
    setTimeout(this.#flush, RETRY_MS * (0.5 + Math.random()));
  }
}
