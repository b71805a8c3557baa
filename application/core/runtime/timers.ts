import { Observable } from '../rxjs.ts';

/** A running timer. `unref` lets the process end before the timer fires; `refresh` restarts its time. */
export interface Timer {
  unref(): this;
  refresh(): this;
}

/** The process's timers, and its clock for durations. The simulation replaces these by virtual ones (decision 58). */
export interface Timers {
  /** Milliseconds since some fixed moment; never goes back. */
  monotonic(): number;
  setTimeout(run: () => void, ms: number): Timer;
  clearTimeout(timer: Timer | undefined): void;
  setInterval(run: () => void, ms: number): Timer;
  clearInterval(timer: Timer | undefined): void;
  setImmediate(run: () => void): void;
}

const isNodeTimer = (timer: Timer | undefined): timer is NodeJS.Timeout => timer !== undefined;

export const nodeTimers: Timers = {
  monotonic: () => performance.now(),
  setTimeout: (run, ms) => globalThis.setTimeout(run, ms),
  clearTimeout: (timer) => {
    if (isNodeTimer(timer)) globalThis.clearTimeout(timer);
  },
  setInterval: (run, ms) => globalThis.setInterval(run, ms),
  clearInterval: (timer) => {
    if (isNodeTimer(timer)) globalThis.clearInterval(timer);
  },
  setImmediate: (run) => {
    globalThis.setImmediate(run);
  },
};

let timers = nodeTimers;

/** Replaces the timers of this process. Returns a function that restores Node's timers. */
export const useTimers = (replacement: Timers): (() => void) => {
  timers = replacement;
  return () => {
    timers = nodeTimers;
  };
};

export const monotonic = (): number => timers.monotonic();
export const setTimeout = (run: () => void, ms: number): Timer => timers.setTimeout(run, ms);
export const clearTimeout = (timer: Timer | undefined): void => timers.clearTimeout(timer);
export const setInterval = (run: () => void, ms: number): Timer => timers.setInterval(run, ms);
export const clearInterval = (timer: Timer | undefined): void => timers.clearInterval(timer);
export const setImmediate = (run: () => void): void => timers.setImmediate(run);

/** Runs before the next callback of the event loop, after all promises that can settle by then have settled. */
export const afterPromises = (run: () => void): void =>
  globalThis.queueMicrotask(() => process.nextTick(run));

/** Resolves in the next tick of the event loop. */
export const nextTick = (): Promise<void> => new Promise((resolve) => timers.setImmediate(resolve));

/** Resolves after `ms`, or as soon as `signal` aborts; never rejects. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    if (signal?.aborted === true) return resolve();
    const finish = (): void => {
      timers.clearTimeout(timer);
      signal?.removeEventListener('abort', finish);
      resolve();
    };
    const timer = timers.setTimeout(finish, ms);
    signal?.addEventListener('abort', finish);
  });

/** Emits once after `ms` and completes. With `everyMs`, it emits again every `everyMs` and does not complete. */
export const timer = (ms: number, everyMs?: number): Observable<void> =>
  new Observable((subscriber) => {
    const fire = (): void => {
      if (everyMs === undefined) {
        subscriber.next();
        subscriber.complete();
        return;
      }
      waiting = timers.setTimeout(fire, everyMs);
      subscriber.next();
    };
    let waiting = timers.setTimeout(fire, ms);
    return () => timers.clearTimeout(waiting);
  });
