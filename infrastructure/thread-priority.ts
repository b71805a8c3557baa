import { readlinkSync } from 'node:fs';
import { setPriority } from 'node:os';

/**
 * Lowers this thread's priority below the process's other threads: the main thread answers requests, and a long
 * computation at the same time would delay each answer. Only Linux has a priority for each thread; elsewhere nothing
 * changes.
 * @param niceness from 0, the value of all other threads, to 19, the lowest priority
 */
export const yieldToOtherThreads = (niceness: number): void => {
  if (process.platform !== 'linux') return;
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), niceness);
  } catch {
    // Best effort: with the usual priority the thread still works.
  }
};
