import { nodeTimers, type Timer, type Timers, useTimers } from '../../application/core/runtime/timers.ts';
import { severalTicks } from './eventually.ts';

/** Timers and a clock that only `pass` moves, so that tests of times neither wait nor depend on the machine. */
export interface FakeTimers {
  /** Milliseconds that have passed. */
  now(): number;
  /** Lets time pass: fires each timer at its time, and lets what follows from it settle. */
  pass(ms: number): Promise<void>;
}

class FakeTimer implements Timer {
  readonly #start: (timer: FakeTimer) => void;
  readonly run: () => void;
  readonly ms: number;
  readonly repeats: boolean;
  at = 0;

  constructor(run: () => void, ms: number, repeats: boolean, start: (timer: FakeTimer) => void) {
    this.run = run;
    this.ms = ms;
    this.repeats = repeats;
    this.#start = start;
    start(this);
  }

  unref(): this {
    return this;
  }

  refresh(): this {
    this.#start(this);
    return this;
  }
}

/** Replaces the clock for durations in each test of a `describe`; only `pass` moves it. */
export const useFakeClock = () => {
  let now = 0;
  let restore = (): void => undefined;
  beforeEach(() => {
    restore = useTimers({ ...nodeTimers, monotonic: () => now });
  });
  afterEach(() => restore());
  return {
    now: () => now,
    pass: (ms: number): void => {
      now += ms;
    },
  };
};

/** Replaces the timers of this process during `test`. Timers that are pending at its end never fire. */
export const withFakeTimers = async (test: (time: FakeTimers) => Promise<void>): Promise<void> => {
  let now = 0;
  const running = new Set<FakeTimer>();
  const start = (timer: FakeTimer): void => {
    timer.at = now + Math.max(1, timer.ms);
    running.add(timer);
  };
  const stop = (timer: Timer | undefined): void => {
    if (timer instanceof FakeTimer) running.delete(timer);
  };
  const timers: Timers = {
    ...nodeTimers,
    monotonic: () => now,
    setTimeout: (run, ms) => new FakeTimer(run, ms, false, start),
    clearTimeout: stop,
    setInterval: (run, ms) => new FakeTimer(run, ms, true, start),
    clearInterval: stop,
  };
  const firstUntil = (end: number): FakeTimer | undefined =>
    [...running].filter(({ at }) => at <= end).sort((a, b) => a.at - b.at)[0];
  const pass = async (ms: number): Promise<void> => {
    const end = now + ms;
    await severalTicks();
    for (let next = firstUntil(end); next !== undefined; next = firstUntil(end)) {
      now = next.at;
      running.delete(next);
      if (next.repeats) start(next);
      next.run();
      await severalTicks();
    }
    now = end;
  };
  const restore = useTimers(timers);
  try {
    await test({ now: () => now, pass });
  } finally {
    restore();
  }
};
