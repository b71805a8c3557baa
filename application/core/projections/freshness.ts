import type { Position } from '../../ports/event-store.ts';
import { clearInterval, setInterval, type Timer } from '../runtime/timers.ts';
import type { LiveFeed } from '../subscriptions/live-feed.ts';
import { WithDeps } from '../with-deps.ts';
import type { ReadModels } from './read-models.ts';

const SAMPLE_MS = 1000;
/** A read model that lags more than this is reported as `catching_up`. */
const BEHIND_MS = 5000;

/** Tells whether this process and the read models are at most a few seconds behind the end of the log. */
export class Freshness extends WithDeps<{
  feed: Pick<LiveFeed, 'position' | 'isCurrent'>;
  readModels: Pick<ReadModels, 'reached'>;
}> {
  readonly #samples: (Position | undefined)[] = [];
  readonly #timer: Timer = setInterval(() => this.sample(), SAMPLE_MS).unref();

  /** Records the present end of the log; called every second. */
  sample(): void {
    this.#samples.push(this.deps.feed.position);
    if (this.#samples.length > BEHIND_MS / SAMPLE_MS) this.#samples.shift();
  }

  /** @throws {StoreUnavailable} */
  async isCatchingUp(): Promise<boolean> {
    return !this.deps.feed.isCurrent || !(await this.deps.readModels.reached(this.#samples[0]));
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
