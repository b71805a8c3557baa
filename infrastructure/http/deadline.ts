import { failed } from './failures.ts';

/** Reason of the deadline's signal, and the failure of an exchange that took too long. */
export const TIMED_OUT = failed('timeout', 'There was no answer in time.');

/**
 * Runs `run` under one deadline, and ends it also when `given` is aborted. Does not wait for code that ignores the
 * signal.
 * @throws {@link TIMED_OUT}, the reason of `given`, or what `run` throws
 */
export const withDeadline = async <T>(
  timeoutMs: number,
  given: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  given?.throwIfAborted();
  const ended = new AbortController();
  const over = Promise.withResolvers<never>();
  const end = (reason: unknown): void => {
    ended.abort(reason);
    over.reject(reason);
  };
  const stop = (): void => end(given?.reason);
  using _timer = setTimeout(() => end(TIMED_OUT), timeoutMs);
  given?.addEventListener('abort', stop);
  const { signal } = ended;
  try {
    return await Promise.race([run(signal), over.promise]);
  } catch (error) {
    // An error after the deadline is reported as the deadline.
    throw signal.aborted ? signal.reason : error;
  } finally {
    given?.removeEventListener('abort', stop);
  }
};
