import type { ErrorCode } from '../../domain/core/errors.ts';
import { DomainError } from '../../domain/core/errors.ts';

/** Only ends a test that fails anyway: long enough for a busy machine. */
const DEADLINE_MS = 60_000;

/** Many checks are requests, so a long wait repeats them less often. */
const pollMs = (waited: number): number => Math.min(5 + waited / 20, 150);

/** Repeats `check` until it does not throw; at the deadline it throws the last error. */
export const untilPasses = async <T>(check: () => T | Promise<T>): Promise<T> => {
  const start = performance.now();
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > start + DEADLINE_MS) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs(performance.now() - start)));
  }
};

/** Waits several ticks so that all pending work runs, before a check that something did not happen. */
export const severalTicks = async (ticks = 20): Promise<void> => {
  for (let tick = 0; tick < ticks; tick += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** Returns the error of a rejected promise; fails when it resolves. */
export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was not rejected');
};

/** Returns the code of the domain error that a promise rejects with. */
export const refusalCode = async (promise: Promise<unknown>): Promise<ErrorCode> => {
  const error = await rejection(promise);
  if (error instanceof DomainError) return error.code;
  throw error;
};

/** A gate that starts closed. */
export const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: () => resolve() };
};
