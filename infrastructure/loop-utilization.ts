/**
 * Measures the share of time (0 to 1) for which this thread's event loop was busy.
 * @param windowMs least length of the measured window; 0: since the previous call
 */
export const loopUtilization = (windowMs = 100): (() => number) => {
  let before = performance.eventLoopUtilization();
  let at = performance.now();
  let share = 0;
  return () => {
    if (performance.now() - at < windowMs) return share;
    share = performance.eventLoopUtilization(before).utilization;
    before = performance.eventLoopUtilization();
    at = performance.now();
    return share;
  };
};
