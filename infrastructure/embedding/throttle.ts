import { loopUtilization } from '../loop-utilization.ts';

/** Utilisation from which the main thread counts as busy. */
const BUSY = 0.8;
/**
 * Ratio of a rest to the work before it while the main thread is busy. Rests are finite, so background embedding
 * never stops completely.
 */
const RESTS = 15;
const MAX_REST_MS = 5000;
/** Interval at which a rest checks whether the main thread is still busy. */
const POLL_MS = 100;

/**
 * Length of a rest (ms) after work of the given length, at the given utilisation (0 to 1) of the main thread.
 */
export const restAfter = (tookMs: number, utilization: number): number =>
  utilization < BUSY ? 0 : Math.min(RESTS * tookMs, MAX_REST_MS);

/** Throttles background embedding, which would otherwise keep a core busy for minutes. */
export class EmbeddingThrottle {
  readonly #utilization: () => number;
  readonly #goOn: () => void;
  #began: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param goOn called when a rest ends
   * @param utilization of the main thread since the previous call, 0 to 1
   */
  constructor(goOn: () => void, utilization: () => number = loopUtilization(0)) {
    this.#goOn = goOn;
    this.#utilization = utilization;
  }

  get isResting(): boolean {
    return this.#timer !== undefined;
  }

  began(): void {
    this.#utilization();
    this.#began = performance.now();
  }

  ended(): void {
    if (this.#began === undefined) return;
    const ms = restAfter(performance.now() - this.#began, this.#utilization());
    this.#began = undefined;
    if (ms > 0) this.#rest(performance.now() + ms);
  }

  #rest(until: number): void {
    const left = until - performance.now();
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        if (left > POLL_MS && this.#utilization() >= BUSY) this.#rest(until);
        else this.#goOn();
      },
      Math.max(0, Math.min(left, POLL_MS)),
    );
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
