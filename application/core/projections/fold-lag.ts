import type { Position } from '../../ports/event-store.ts';
import { clearInterval, monotonic, setInterval, type Timer } from '../runtime/timers.ts';

const SAMPLE_MS = 100;
/** Tolerated lag (ms): far below 5 s, which is how long reads in other processes wait. */
const GRACE_MS = 500;
/** Most samples; beyond this number the second-oldest sample is dropped, since the oldest sample determines the lag. */
const MAX_SAMPLES = 1000;

interface Fold {
  readonly checkpoint: Position | undefined;
  /** False during a rebuild, for which no read waits. */
  readonly hasCaughtUp: boolean;
}

/**
 * Measures how long the read models that this process folds have been behind the log. A worker without an API cannot
 * see waiting reads, so it throttles background work by this lag (decision 69).
 */
export class FoldLag {
  readonly #end: () => Position | undefined;
  /** Ends of the log, each with the time (ms) at which it was first seen, oldest first. */
  readonly #seen: { readonly end: Position; readonly at: number }[] = [];
  readonly #folds = new Map<string, Fold>();
  readonly #timer: Timer;

  /** @param end the newest position that this process knows */
  constructor(end: () => Position | undefined) {
    this.#end = end;
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS).unref();
  }

  /** Records the present end of the log; called every 100 ms. */
  sample(): void {
    const end = this.#end();
    if (end === undefined || end === this.#seen.at(-1)?.end) return;
    this.#seen.push({ end, at: monotonic() });
    if (this.#seen.length > MAX_SAMPLES) this.#seen.splice(1, 1);
  }

  /** Records a new checkpoint. @param generation name and tag */
  progress(generation: string, checkpoint: Position | undefined): void {
    const end = this.#seen.at(-1)?.end;
    const isAtEnd = end === undefined || (checkpoint !== undefined && checkpoint >= end);
    const hasCaughtUp = isAtEnd || (this.#folds.get(generation)?.hasCaughtUp ?? false);
    this.#folds.set(generation, { checkpoint, hasCaughtUp });
  }

  ended(generation: string): void {
    this.#folds.delete(generation);
  }

  /** Longest lag beyond `GRACE_MS` (ms); 0 when all read models keep up. */
  longestLagMs(): number {
    let least: Position | undefined;
    for (const { checkpoint, hasCaughtUp } of this.#folds.values()) {
      if (!hasCaughtUp || checkpoint === undefined) continue;
      if (least === undefined || checkpoint < least) least = checkpoint;
    }
    if (least === undefined) return 0;
    while (this.#seen[0] !== undefined && this.#seen[0].end <= least) this.#seen.shift();
    const [oldest] = this.#seen;
    return oldest === undefined ? 0 : Math.max(0, monotonic() - oldest.at - GRACE_MS);
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
