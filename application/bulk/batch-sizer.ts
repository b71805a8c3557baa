import type { ReadModels } from '../core/projections/read-models.ts';
import { monotonic, pause } from '../core/runtime/timers.ts';
import { latest, type Position } from '../ports/event-store.ts';
import type { SettledRow } from './row.ts';

/** Load of requests that run at the same time as a commit. */
export type ForegroundLoad = Pick<ReadModels, 'requestCount' | 'longestWait' | 'reachesWithin'>;

/** Requests per second above which the foreground is busy, and the interval (ms) of measuring them. */
const BUSY = 40;
const MEASURE_MS = 100;
/** Rows per batch while the foreground is busy: one tick of work. */
const BUSY_ROWS = 24;
/** Further rows wait while a request has waited longer than this (ms) for a read model. */
const WAITS_MS = 8;
/** Longest pause before further rows (ms), so that a stalled read model does not stop a commit. */
const MAX_BREAK_MS = 20;
/** Rows by which the read model may lag while the foreground is busy. */
const MAX_AHEAD = 48;

/** Sizes and delays batches of rows so that a commit does not slow requests down (decision 22). */
export class BatchSizer {
  readonly #foreground: ForegroundLoad;
  readonly #most: number;
  readonly #now: () => number;
  #isBusy = false;
  /** Request count and time (ms) at the last measurement. */
  #requestCount: number;
  #measuredAt: number;
  /** Rows written while the foreground was busy that the read model may not have folded yet. */
  #ahead: { readonly rows: number; readonly position: Position }[] = [];

  constructor(most: number, foreground: ForegroundLoad, now: () => number = () => monotonic()) {
    this.#foreground = foreground;
    this.#most = most;
    this.#now = now;
    this.#requestCount = foreground.requestCount;
    this.#measuredAt = now();
  }

  size(): number {
    this.#measure();
    return this.#isBusy ? Math.min(this.#most, BUSY_ROWS) : this.#most;
  }

  /** Resolves when the next batch may start. */
  async ready(): Promise<void> {
    this.#measure();
    const deadline = this.#now() + MAX_BREAK_MS;
    while (this.#foreground.longestWait() > WAITS_MS && this.#now() < deadline) {
      await pause(1);
    }
    await this.#waitForReadModel(deadline);
  }

  /** Records the rows written by a batch. */
  wrote(settled: readonly SettledRow[]): void {
    if (!this.#isBusy) return;
    let rows = 0;
    let last: Position | undefined;
    for (const row of settled) {
      if (row.status === 'rejected' || row.value.kind !== 'succeeded') continue;
      const { position } = row.value;
      rows += 1;
      last = latest(last, position);
    }
    if (last !== undefined) this.#ahead.push({ rows, position: last });
  }

  async #waitForReadModel(deadline: number): Promise<void> {
    let ahead = this.#ahead.reduce((sum, { rows }) => sum + rows, 0);
    while (ahead > MAX_AHEAD) {
      const [first] = this.#ahead;
      if (first === undefined) return;
      const left = Math.max(0, deadline - this.#now());
      if (!(await this.#foreground.reachesWithin('records', first.position, left))) return;
      ahead -= first.rows;
      // The list may have been cleared because the foreground became idle.
      if (this.#ahead[0] === first) this.#ahead.shift();
    }
  }

  #measure(): void {
    const now = this.#now();
    const ms = now - this.#measuredAt;
    if (ms < MEASURE_MS) return;
    const { requestCount } = this.#foreground;
    this.#isBusy = ((requestCount - this.#requestCount) / ms) * 1000 > BUSY;
    if (!this.#isBusy) this.#ahead = [];
    this.#requestCount = requestCount;
    this.#measuredAt = now;
  }
}
