import { takeLongest } from '../application/core/concurrency/tick-marks.ts';
import type { Logger } from '../application/ports/logger.ts';
import type { Metrics } from '../application/ports/metrics.ts';

/** How often (ms) the thread's processor time is read. */
const SAMPLE_MS = 10;
/** Budget (ms) of one tick of the event loop. */
const TICK_BUDGET_MS = 20;
/** Code that holds the event loop longer than this (ms) is logged as a warning. */
const VERY_LONG_MS = 250;

/**
 * Reports ticks of the event loop that take more than the budget, with the code that ran longest. Counts processor time
 * of this thread, so that other processes of the machine do not matter. @returns a function that stops the reports
 */
export const watchEventLoop = (
  metrics: Pick<Metrics, 'eventLoopBlocked'>,
  logger: Pick<Logger, 'debug' | 'warn'>,
): (() => void) => {
  const spent = (): number => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  };
  let before = spent();
  takeLongest();
  const timer = setInterval(() => {
    const now = spent();
    // The timer fires at most once per tick, so processor time beyond one interval belongs to a single tick.
    const ms = now - before - SAMPLE_MS;
    before = now;
    const longest = takeLongest();
    if (ms <= TICK_BUDGET_MS) return;
    metrics.eventLoopBlocked(longest.code, ms / 1000);
    // One tick runs code of many requests; the longest code took at most its own wall-clock time.
    const fields = { code: longest.code, ms: Math.round(Math.min(ms, longest.ms)) };
    if (fields.ms > VERY_LONG_MS) logger.warn(fields, 'a long tick');
    else logger.debug(fields, 'a long tick');
  }, SAMPLE_MS);
  timer.unref();
  return () => clearInterval(timer);
};
