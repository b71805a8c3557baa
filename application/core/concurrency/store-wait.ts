import type { Logger } from '../../ports/logger.ts';
import { monotonic } from '../runtime/timers.ts';
import { isTransient, OutOfReach, RetryPolicy } from './retry-policy.ts';

/** Runs a step of the process start, and repeats it while a store is unavailable. A step must be safe to run twice. */
export type StoreWait = <T>(step: (tries: number) => Promise<T>) => Promise<T>;

/** Does not wait: a step fails at once, for tools that a person waits for. */
export const withoutWait: StoreWait = (step) => step(0);

const WAIT_MS = 60_000;

/**
 * Waits up to a minute for stores that are unavailable or too slow, and logs the wait once.
 * @throws the store's last error after that minute; any other error at once
 */
export const waitForStores = (logger: Logger): StoreWait => {
  const options = { clock: { now: monotonic }, limitMs: WAIT_MS, pauseMs: 200 };
  const policy = new RetryPolicy(options, new AbortController().signal);
  let isLogged = false;
  return async (step) => {
    let last: unknown;
    const noting = async (tries: number) => {
      try {
        return await step(tries);
      } catch (error) {
        last = error;
        if (!isLogged && isTransient(error)) {
          isLogged = true;
          logger.warn(
            { err: error },
            'a store is unavailable or too slow; the start waits up to a minute for it',
          );
        }
        throw error;
      }
    };
    try {
      return await policy.retry(noting);
    } catch (error) {
      throw error instanceof OutOfReach ? last : error;
    }
  };
};
