import type { ErrorCode } from '../../domain/core/errors.ts';
import { DomainError } from '../../domain/core/errors.ts';

/** Asks again and again until `check` no longer throws; after the deadline its last error is the test's. */
export const eventually = async <T>(check: () => T | Promise<T>, deadlineMs = 8000): Promise<T> => {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** Gives everything that is ready a turn, several times over; for what must not happen. */
export const severalTurns = async (turns = 20): Promise<void> => {
  for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
};

/** The error that a promise rejects with; a promise that resolves is the failure. */
export const rejection = async (promise: Promise<unknown>): Promise<unknown> => {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it was not rejected');
};

/** The code of the domain error that a promise rejects with. */
export const refusalCode = async (promise: Promise<unknown>): Promise<ErrorCode> => {
  const error = await rejection(promise);
  if (error instanceof DomainError) return error.code;
  throw error;
};

/** A gate that is closed until it is opened. */
export const gate = () => {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { passed: promise, open: () => resolve() };
};
