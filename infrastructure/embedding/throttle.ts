import { performance } from 'node:perf_hooks';

/** From so much of its time on, the main thread is busy with what somebody waits for. */
const BUSY = 0.8;
/** Then the background has a sixteenth of a core at most, and not less for long: it never stands still. */
const RESTS = 15;
const MAX_REST_MS = 5000;
/** So often it is looked whether the main thread has time again, which ends a rest. */
const LOOK_MS = 100;

/** How long the background rests (ms) after something that took so long while the main thread was so busy (0 to 1). */
export const restAfter = (tookMs: number, utilization: number): number =>
  utilization < BUSY ? 0 : Math.min(RESTS * tookMs, MAX_REST_MS);

/**
 * Lets what embeds in the background give way. A whole corpus keeps a core busy for minutes; where there are two, requests
 * and deliveries would have half the machine until it is done.
 */
export class Pace {
  readonly #utilization: () => number;
  readonly #goOn: () => void;
  #began: number | undefined;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param goOn told when a rest is over
   * @param utilization of the main thread since it was last asked, 0 to 1
   */
  constructor(goOn: () => void, utilization: () => number = utilizationOfMain()) {
    this.#goOn = goOn;
    this.#utilization = utilization;
  }

  get rests(): boolean {
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
        if (left > LOOK_MS && this.#utilization() >= BUSY) this.#rest(until);
        else this.#goOn();
      },
      Math.max(0, Math.min(left, LOOK_MS)),
    );
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

const utilizationOfMain = (): (() => number) => {
  let last = performance.eventLoopUtilization();
  return () => {
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    return utilization;
  };
};
