import { pause } from '../core/runtime/timers.ts';
import { holdLease, type LeaseOptions } from '../core/subscriptions/lease.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Logger } from '../ports/logger.ts';
import type { Gauges } from '../ports/metrics.ts';

/** Interval (ms) of samples; a scrape reads the last sample. */
const SAMPLE_MS = 10_000;

const COUNTS = ['deadLetters', 'pausedSubscriptions', 'openPostingFailures', 'queuedRows'] as const;
type Count = (typeof COUNTS)[number];

/** Values that need reads of the stores. Each read is bounded. */
interface SampledValues extends Readonly<Record<Count, () => Promise<number>>> {
  /** Bytes by name of the store. */
  readonly storeBytes: () => Promise<ReadonlyMap<string, number>>;
}

/** Samples values for `GET /metrics` in the background, on one process, so that a scrape reads no store. */
export class GaugeSampler extends WithDeps<{
  readonly values: SampledValues;
  readonly metrics: Pick<Gauges, Count | 'storeBytes'>;
  readonly logger: Logger;
}> {
  #stores = new Set<string>();

  /** Samples while the lease is held; then clears the values, since another process reports them. */
  run(lease: LeaseOptions, signal: AbortSignal): Promise<void> {
    return holdLease('gauge-sampler', lease, signal, async (_lease, held) => {
      while (!held.aborted) {
        await this.sample();
        await pause(SAMPLE_MS, held);
      }
      this.#clear();
    });
  }

  /** Never rejects: a value that cannot be read is left out. */
  async sample(): Promise<void> {
    const { values, metrics } = this.deps;
    for (const count of COUNTS) metrics[count](await this.#read(values[count]));
    const sizes = (await this.#read(values.storeBytes)) ?? new Map<string, number>();
    for (const store of this.#stores) if (!sizes.has(store)) metrics.storeBytes(store, undefined);
    for (const [store, bytes] of sizes) metrics.storeBytes(store, bytes);
    this.#stores = new Set(sizes.keys());
  }

  async #read<T>(read: () => Promise<T>): Promise<T | undefined> {
    try {
      return await read();
    } catch (error) {
      this.deps.logger.debug({ err: error }, 'a value for the metrics could not be read');
      return undefined;
    }
  }

  #clear(): void {
    const { metrics } = this.deps;
    for (const count of COUNTS) metrics[count](undefined);
    for (const store of this.#stores) metrics.storeBytes(store, undefined);
  }
}
