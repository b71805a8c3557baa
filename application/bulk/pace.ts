import type { Position } from '../ports/event-store.ts';
import type { Others } from './ports.ts';

/** A turn of the event loop in which rows are read or decided should take about so long (ms). */
const TURN_MS = 3;
/** … while others ask for something: each of their requests takes several turns. */
const SHORT_TURN_MS = 1;
/** Others are there when they ask so often (per second). */
const BUSY = 40;
const LOOK_MS = 100;
const LEAST = 24;
/** What a row takes at first (ms), and how fast that is corrected. */
const ROW_MS = 0.04;
const STEP = 1.08;
/** Somebody who waits so long (ms) for a read model, which has to get through the rows first, is waited for. */
const PATIENCE_MS = 8;
/** … but never longer than this before further rows: a read model that stands still must not stop a commit. */
const LONGEST_BREAK_MS = 20;
/** While others are there, a commit gets no more rows ahead of their read model than it folds in a few milliseconds. */
const MOST_AHEAD = 48;

/**
 * How many rows are taken together, and when: as many as leave other requests their turn in good time, and no sooner
 * than the read models can follow where somebody waits for them. It goes by what a row takes at the median, for that is
 * the rows' doing; a single long turn may be that of whatever else the machine is busy with.
 */
export class Pace {
  readonly #others: Others;
  readonly #most: number;
  readonly #least: number;
  readonly #now: () => number;
  #rowMs = ROW_MS;
  #isBusy = false;
  /** What was asked when the rate was last looked at, and when that was. */
  #asked: number;
  #lookedAt: number;
  /** Rows that were written while others were there, and where in the log; the read model may not have them yet. */
  #ahead: { readonly rows: number; readonly position: Position }[] = [];

  constructor(most: number, others: Others, now: () => number = () => performance.now()) {
    this.#others = others;
    this.#most = most;
    this.#least = Math.min(LEAST, most);
    this.#now = now;
    this.#asked = others.asked;
    this.#lookedAt = now();
  }

  /** So many rows make up the next turn. */
  size(): number {
    this.#look();
    const rows = Math.floor((this.#isBusy ? SHORT_TURN_MS : TURN_MS) / this.#rowMs);
    return Math.min(this.#most, Math.max(this.#least, rows));
  }

  /** Resolves when further rows may be begun. */
  async ready(): Promise<void> {
    this.#look();
    const since = this.#now();
    while (this.#others.longestWait() > PATIENCE_MS && this.#now() - since < LONGEST_BREAK_MS) {
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    await this.#letCome(since + LONGEST_BREAK_MS);
  }

  /** Notes rows that were written, up to a place in the log. */
  wrote(rows: number, position: Position): void {
    if (this.#isBusy) this.#ahead.push({ rows, position });
  }

  async #letCome(deadline: number): Promise<void> {
    let ahead = this.#ahead.reduce((sum, { rows }) => sum + rows, 0);
    while (ahead > MOST_AHEAD) {
      const [first] = this.#ahead;
      if (first === undefined) return;
      if (!(await this.#others.comesTo(first.position, Math.max(0, deadline - this.#now())))) return;
      ahead -= first.rows;
      // They may have been forgotten meanwhile, because nobody else is there any more.
      if (this.#ahead[0] === first) this.#ahead.shift();
    }
  }

  /** Runs one turn's work on so many rows, and learns from it. */
  async timed<T>(rows: number, work: () => T | Promise<T>): Promise<T> {
    const began = this.#now();
    const result = await work();
    if (rows > 0) this.#rowMs *= (this.#now() - began) / rows > this.#rowMs ? STEP : 1 / STEP;
    return result;
  }

  #look(): void {
    const now = this.#now();
    const ms = now - this.#lookedAt;
    if (ms < LOOK_MS) return;
    const { asked } = this.#others;
    this.#isBusy = ((asked - this.#asked) / ms) * 1000 > BUSY;
    if (!this.#isBusy) this.#ahead = [];
    this.#asked = asked;
    this.#lookedAt = now;
  }
}
