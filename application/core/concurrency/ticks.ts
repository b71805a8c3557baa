import { setImmediate } from 'node:timers/promises';

/** Longest time (ms) that a loop holds the thread before it yields. */
export const SLICE_MS = 10;

/** For loops over much data: each call yields one tick if the loop has held the thread for {@link SLICE_MS}. */
export const tickWhenDue = (): (() => Promise<void> | undefined) => {
  let since = performance.now();
  return () => {
    if (performance.now() - since < SLICE_MS) return undefined;
    return setImmediate().then(() => {
      since = performance.now();
    });
  };
};
