const WINDOW_MS = 100;

/**
 * Measures the share of time (0 to 1) for which this thread's event loop was busy, over the last window of at least
 * 100 ms.
 */
export const loopUtilization = (): (() => number) => {
  let before = performance.eventLoopUtilization();
  let at = performance.now();
  let share = 0;
  return () => {
    if (performance.now() - at < WINDOW_MS) return share;
    share = performance.eventLoopUtilization(before).utilization;
    before = performance.eventLoopUtilization();
    at = performance.now();
    return share;
  };
};
