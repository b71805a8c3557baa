import { setTimeout as pause } from 'node:timers/promises';
import { useTracer } from '../application/core/runtime/tracing.ts';
import type { Logger } from '../application/ports/logger.ts';
import type { Config } from '../infrastructure/config.ts';
import { openTracing } from '../infrastructure/tracing.ts';

/** How long (ms) a stop waits for the receiver. */
const LAST_MS = 2_000;

/**
 * Sets the tracer of this thread if traces are on.
 * @returns a function that sends the remaining spans, for 2 s at most
 */
export const startTracing = async (config: Config, logger: Logger): Promise<() => Promise<void>> => {
  const tracing = await openTracing(config, logger);
  if (tracing === undefined) return async () => undefined;
  const stop = useTracer(tracing.tracer);
  return async () => {
    stop();
    await Promise.race([tracing.close(), pause(LAST_MS, undefined, { ref: false })]);
  };
};
