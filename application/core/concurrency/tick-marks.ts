import { monotonic } from '../runtime/timers.ts';

/**
 * Names the code that blocks the event loop. {@link mark} is called where long work may begin; the time between two
 * marks counts for the code of the earlier mark (docs/decisions/0038-bounds-of-requests-and-answers.md).
 */

/** Label of time that follows no other mark. */
const UNMARKED = 'other';

let current = UNMARKED;
let since = monotonic();
let longest = UNMARKED;
let longestMs = 0;

/** @param code from a closed set, since it labels a metric: an operation, a subscriber or a kind of loop */
export const mark = (code: string): void => {
  const now = monotonic();
  if (now - since > longestMs) {
    longestMs = now - since;
    longest = current;
  }
  current = code;
  since = now;
};

/** The code with the longest time (ms) between two marks since the last call of this function. */
export const takeLongest = (): { readonly code: string; readonly ms: number } => {
  mark(UNMARKED);
  const found = { code: longest, ms: longestMs };
  longest = UNMARKED;
  longestMs = 0;
  return found;
};
