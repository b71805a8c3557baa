import { failed } from './failures.ts';

/** The reason of a deadline's signal when time is up, and what an exchange that took too long ends with. */
export const TIMED_OUT = failed('timeout', 'There was no answer in time.');

/**
 * Runs under one deadline for everything, which is over with `given` as well. What does not look at the signal is not
 * waited for.
 * @throws {@link TIMED_OUT}, the reason of `given`, or what `run` throws
 */
export const withDeadline = async <T>(
  timeoutMs: number,
  given: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  given?.throwIfAborted();
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(TIMED_OUT), timeoutMs);
  const signal = given === undefined ? late.signal : AbortSignal.any([given, late.signal]);
  const over = Promise.withResolvers<never>();
  const stop = (): void => over.reject(signal.reason);
  signal.addEventListener('abort', stop);
  try {
    return await Promise.race([run(signal), over.promise]);
  } catch (error) {
    // Whatever broke because of the deadline, the deadline is why.
    throw signal.aborted ? signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
};
