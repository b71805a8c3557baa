import type { Position } from '../../ports/event-store.ts';
import type { LiveFeed } from '../subscriptions/live-feed.ts';
import type { ReadModels } from './read-models.ts';

const SAMPLE_MS = 1000;
/** A read model that lags more than this is reported as `catching_up`. */
const BEHIND_MS = 5000;

/** Whether this process and the read models are at the end of the log, or a few seconds behind it. */
export class Freshness {
  readonly #feed: Pick<LiveFeed, 'position' | 'isCurrent'>;
  readonly #readModels: Pick<ReadModels, 'reached'>;
  readonly #samples: (Position | undefined)[] = [];
  readonly #timer: NodeJS.Timeout;

  constructor(deps: {
    feed: Pick<LiveFeed, 'position' | 'isCurrent'>;
    readModels: Pick<ReadModels, 'reached'>;
  }) {
    this.#feed = deps.feed;
    this.#readModels = deps.readModels;
    this.#timer = setInterval(() => this.sample(), SAMPLE_MS).unref();
  }

  /** Notes where the log is now; done every second. */
  sample(): void {
    this.#samples.push(this.#feed.position);
    if (this.#samples.length > BEHIND_MS / SAMPLE_MS) this.#samples.shift();
  }

  /** @throws {StoreUnavailable} */
  async isCatchingUp(): Promise<boolean> {
    return !this.#feed.isCurrent || !(await this.#readModels.reached(this.#samples[0]));
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
