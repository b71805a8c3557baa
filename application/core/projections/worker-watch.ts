import type { Projection } from '../../../domain/core/projection.ts';
import { leaseNameOf, type ReadStore } from '../../ports/read-store.ts';
import { clearInterval, monotonic, setInterval, type Timer } from '../runtime/timers.ts';

const SAMPLE_MS = 1000;
/** How long (ms) workers may be unseen before they count as missing; longer than a restart or a takeover. */
const MISSING_MS = 5000;

/** Checks, in a process that does not fold read models, whether any other process does. */
export class WorkerWatch {
  readonly #names: readonly string[];
  readonly #store: Pick<ReadStore, 'activeGeneration' | 'isLeaseHeld'>;
  readonly #timer: Timer;
  #lastSeen = monotonic();
  #sampling = false;

  constructor(
    projections: readonly Pick<Projection, 'name'>[],
    store: Pick<ReadStore, 'activeGeneration' | 'isLeaseHeld'>,
  ) {
    this.#names = projections.map(({ name }) => name);
    this.#store = store;
    this.#timer = setInterval(() => void this.sample(), SAMPLE_MS).unref();
  }

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
    for (const projection of this.#names) {
      const { active, building } = await this.#store.activeGeneration(projection);
      for (const tag of [active, building]) {
        if (tag !== undefined && (await this.#store.isLeaseHeld(leaseNameOf({ projection, tag }))))
          return true;
      }
    }
    return false;
  }
}
