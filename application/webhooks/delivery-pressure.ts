import { pause } from '../core/runtime/timers.ts';
import type { Clock } from '../ports/clock.ts';

/** Since when (ms) the tenant's oldest webhook waits in one stage of its way; undefined when none does. */
export type WaitingSince = (tenantId: string) => number | undefined;

/** Webhooks may wait this long (ms) before writes wait too. */
const FREE_MS = 250;
/** Part of what they wait longer that each write waits. */
const SHARE = 0.5;
const MOST_MS = 1_000;
/** Below this utilization of the process, an endpoint is slow and not the machine. */
const BUSY = 0.75;
/** How long (ms) a look at the stages holds. */
const HOLDS_MS = 25;

/**
 * Slows a tenant's writes while its webhooks lag in a busy process (decision 66): otherwise as many connections as
 * there are take the event loop from the few calls that an endpoint may get at a time.
 */
export class DeliveryPressure {
  readonly #clock: Clock;
  readonly #utilization: () => number;
  readonly #stages = new Set<WaitingSince>();
  readonly #lags = new Map<string, number>();
  #lookedAt = Number.NEGATIVE_INFINITY;

  /** @param utilization share of time, 0 to 1, for which the event loop was busy of late */
  constructor(clock: Clock, utilization: () => number) {
    this.#clock = clock;
    this.#utilization = utilization;
  }

  /** Adds a stage that runs in this process. @returns removes it */
  watch(stage: WaitingSince): () => void {
    this.#stages.add(stage);
    return () => this.#stages.delete(stage);
  }

  /** The wait before a write; undefined for none. */
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
    if (Math.abs(now - this.#lookedAt) > HOLDS_MS) {
      this.#lags.clear();
      this.#lookedAt = now;
    }
    const known = this.#lags.get(tenantId);
    if (known !== undefined) return known;
    let lag = 0;
    for (const stage of this.#stages) lag = Math.max(lag, now - (stage(tenantId) ?? now));
    this.#lags.set(tenantId, lag);
    return lag;
  }
}
