import { pause } from '../core/runtime/timers.ts';
import type { Clock } from '../ports/clock.ts';

/** Returns the time (ms) since which the tenant's oldest delivery waits in a stage; undefined when none waits. */
type WaitingSince = (tenantId: string) => number | undefined;

/** Deliveries may wait this long (ms) before writes are delayed. */
const FREE_MS = 250;
/** Share of the excess lag by which each write is delayed. */
const SHARE = 0.5;
const MOST_MS = 1_000;
/** Below this event-loop utilization, slow endpoints cause the lag, so writes are not delayed. */
const BUSY = 0.75;
/** How long (ms) a measured lag is cached. */
const CACHED_MS = 25;

/**
 * Slows a tenant's writes while its deliveries lag in a busy process (decision 66). Otherwise many client connections
 * starve the few concurrent calls per endpoint.
 */
export class DeliveryPressure {
  readonly #clock: Clock;
  readonly #utilization: () => number;
  readonly #stages = new Set<WaitingSince>();
  readonly #lags = new Map<string, number>();
  #measuredAt = Number.NEGATIVE_INFINITY;

  /** @param utilization share of time, 0 to 1, for which the event loop was busy recently */
  constructor(clock: Clock, utilization: () => number) {
    this.#clock = clock;
    this.#utilization = utilization;
  }

  /** Adds a stage that runs in this process. @returns a function that removes the stage */
  watch(stage: WaitingSince): () => void {
    this.#stages.add(stage);
    return () => this.#stages.delete(stage);
  }

  /** Resolves when a write may start; undefined when the write need not wait. */
  pace(tenantId: string): Promise<void> | undefined {
    const ms = this.delayOf(tenantId);
    return ms === 0 ? undefined : pause(ms);
  }

  /** How long (ms) a write must wait. */
  delayOf(tenantId: string): number {
    const ms = (this.#lagOf(tenantId) - FREE_MS) * SHARE;
    return ms < 1 || this.#utilization() < BUSY ? 0 : Math.min(MOST_MS, ms);
  }

  #lagOf(tenantId: string): number {
    const now = this.#clock.now();
    if (Math.abs(now - this.#measuredAt) > CACHED_MS) {
      this.#lags.clear();
      this.#measuredAt = now;
    }
    const known = this.#lags.get(tenantId);
    if (known !== undefined) return known;
    let lag = 0;
    for (const stage of this.#stages) lag = Math.max(lag, now - (stage(tenantId) ?? now));
    this.#lags.set(tenantId, lag);
    return lag;
  }
}
