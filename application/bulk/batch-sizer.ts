import type { Position } from '../ports/event-store.ts';
import type { ForegroundLoad } from './ports.ts';
import type { SettledRow } from './row-executor.ts';

/** The foreground is busy when it asks so often (per second), which is looked at so often (ms). */
const BUSY = 40;
const LOOK_MS = 100;
/** Rows in a batch while the foreground is busy: one tick of work. */
const BUSY_ROWS = 24;
/** A request that waits so long (ms) for a read model goes before further rows. */
const WAITS_MS = 8;
/** The longest break before further rows (ms): a read model that stands still must not stop a commit. */
const MAX_BREAK_MS = 20;
/** Rows that the read model may be behind while the foreground is busy: a few milliseconds of folding. */
const MAX_AHEAD = 48;

/** Decides how many rows are applied together, and when: requests must not be held up by a commit (decision 22). */
export class BatchSizer {
  readonly #foreground: ForegroundLoad;
  readonly #most: number;
  readonly #now: () => number;
  #isBusy = false;
  /** What was asked when the rate was last looked at, and when that was. */
  #asked: number;
  #lookedAt: number;
  /** Rows that were written while the foreground was busy; the read model may not have them yet. */
  #ahead: { readonly rows: number; readonly position: Position }[] = [];

  constructor(most: number, foreground: ForegroundLoad, now: () => number = () => performance.now()) {
    this.#foreground = foreground;
    this.#most = most;
    this.#now = now;
    this.#asked = foreground.asked;
    this.#lookedAt = now();
  }

  size(): number {
    this.#look();
    return this.#isBusy ? Math.min(this.#most, BUSY_ROWS) : this.#most;
  }

  /** Resolves when further rows may begin. */
  async ready(): Promise<void> {
    this.#look();
    const deadline = this.#now() + MAX_BREAK_MS;
    while (this.#foreground.longestWait() > WAITS_MS && this.#now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await this.#letReadModelCome(deadline);
  }

  /** Notes the rows that a batch has written. */
  wrote(settled: readonly SettledRow[]): void {
    if (!this.#isBusy) return;
    let rows = 0;
    let last: Position | undefined;
    for (const row of settled) {
      if (row.status === 'rejected' || row.value.kind !== 'succeeded') continue;
      const { position } = row.value;
      rows += 1;
      if (position !== undefined && (last === undefined || last < position)) last = position;
    }
    if (last !== undefined) this.#ahead.push({ rows, position: last });
  }

  async #letReadModelCome(deadline: number): Promise<void> {
    let ahead = this.#ahead.reduce((sum, { rows }) => sum + rows, 0);
    while (ahead > MAX_AHEAD) {
      const [first] = this.#ahead;
      if (first === undefined) return;
      const left = Math.max(0, deadline - this.#now());
      if (!(await this.#foreground.comesTo(first.position, left))) return;
      ahead -= first.rows;
      // They may have been forgotten meanwhile, because the foreground is idle again.
      if (this.#ahead[0] === first) this.#ahead.shift();
    }
  }

  #look(): void {
    const now = this.#now();
    const ms = now - this.#lookedAt;
    if (ms < LOOK_MS) return;
    const { asked } = this.#foreground;
    this.#isBusy = ((asked - this.#asked) / ms) * 1000 > BUSY;
    if (!this.#isBusy) this.#ahead = [];
    this.#asked = asked;
    this.#lookedAt = now;
  }
}
