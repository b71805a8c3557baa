import { failed } from './failures.ts';

/** One deadline over everything that an exchange does. */

/** What an exchange ends with, and the reason of its signal, when it has taken too long. */
export const TIMED_OUT = failed('timeout', 'There was no answer in time.');

/**
 * Runs under one deadline for everything.
 * @throws {@link TIMED_OUT}, the reason of `given`, or what `run` throws
 */
export const withDeadline = async <T>(
  timeoutMs: number,
  given: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> => {
  given?.throwIfAborted();
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(TIMED_OUT), timeoutMs);
  const giveUp = (): void => stop.abort(given?.reason);
  given?.addEventListener('abort', giveUp, { once: true });
  try {
    // Whatever does not listen to the signal is not waited for.
    return await orStopped(run(stop.signal), stop.signal);
  } catch (error) {
    // Whatever broke because of it, the deadline is why.
    throw stop.signal.aborted ? stop.signal.reason : error;
  } finally {
    clearTimeout(timer);
    given?.removeEventListener('abort', giveUp);
  }
};

/** For what cannot be stopped itself. */
export const orStopped = <T>(work: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    work.then(
      (done) => {
        signal.removeEventListener('abort', stop);
        resolve(done);
      },
      (error: unknown) => {
        signal.removeEventListener('abort', stop);
        reject(error);
      },
    );
    if (signal.aborted) stop();
  });
