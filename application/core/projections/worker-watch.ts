import type { Projection } from '../../../domain/core/projection.ts';
import { leaseNameOf, type ReadStore } from '../../ports/read-store.ts';
import { clearInterval, monotonic, setInterval, type Timer } from '../runtime/timers.ts';
import { WithDeps } from '../with-deps.ts';

const SAMPLE_MS = 1000;
/** How long (ms) workers may be unseen before they count as missing; longer than a restart or a takeover. */
const MISSING_MS = 5000;

/** Checks, in a process that does not fold read models, whether any other process does. */
export class WorkerWatch extends WithDeps<{
  readonly projections: readonly Pick<Projection, 'name'>[];
  readonly store: Pick<ReadStore, 'activeGeneration' | 'isLeaseHeld'>;
}> {
  readonly #timer: Timer = setInterval(() => void this.sample(), SAMPLE_MS).unref();
  #lastSeen = monotonic();
  #sampling = false;

  /** True when no process has folded read models for some seconds. */
  get areWorkersMissing(): boolean {
    return monotonic() - this.#lastSeen > MISSING_MS;
  }

  /** Looks for a worker; called every second. */
  async sample(): Promise<void> {
    if (this.#sampling) return;
    this.#sampling = true;
    try {
      if (await this.#isAnyHeld()) this.#lastSeen = monotonic();
    } catch {
      // While the store is unreachable, workers do not count as missing.
      this.#lastSeen = monotonic();
    } finally {
      this.#sampling = false;
    }
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #isAnyHeld(): Promise<boolean> {
    const { projections, store } = this.deps;
    for (const { name: projection } of projections) {
      const { active, building } = await store.activeGeneration(projection);
      for (const tag of [active, building]) {
        if (tag !== undefined && (await store.isLeaseHeld(leaseNameOf({ projection, tag })))) return true;
      }
    }
    return false;
  }
}
