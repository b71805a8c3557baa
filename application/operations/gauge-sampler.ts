import { pause } from '../core/runtime/timers.ts';
import { holdLease, type LeaseOptions } from '../core/subscriptions/lease.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Logger } from '../ports/logger.ts';
import type { Gauges } from '../ports/metrics.ts';

/** Interval (ms) of samples: a scrape reads the last one. */
const SAMPLE_MS = 10_000;

/** Values that need reads of the stores. Each read is bounded. */
export interface SampledValues {
  readonly deadLetters: () => Promise<number>;
  readonly pausedSubscriptions: () => Promise<number>;
  readonly openPostingFailures: () => Promise<number>;
  readonly queuedRows: () => Promise<number>;
  /** By store. */
  readonly storeBytes: () => Promise<ReadonlyMap<string, number>>;
}

/** Samples values for `GET /metrics` in the background, on one process, so that a scrape reads no store. */
export class GaugeSampler extends WithDeps<{
  readonly values: SampledValues;
  readonly metrics: Pick<
    Gauges,
    'deadLetters' | 'pausedSubscriptions' | 'openPostingFailures' | 'queuedRows' | 'storeBytes'
  >;
  readonly logger: Logger;
}> {
  #stores = new Set<string>();

  /** Samples until aborted; afterwards another process reports the values. */
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
    metrics.deadLetters(await this.#read(values.deadLetters));
    metrics.pausedSubscriptions(await this.#read(values.pausedSubscriptions));
    metrics.openPostingFailures(await this.#read(values.openPostingFailures));
    metrics.queuedRows(await this.#read(values.queuedRows));
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
    metrics.deadLetters(undefined);
    metrics.pausedSubscriptions(undefined);
    metrics.openPostingFailures(undefined);
    metrics.queuedRows(undefined);
    for (const store of this.#stores) metrics.storeBytes(store, undefined);
  }
}
