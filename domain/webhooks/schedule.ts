/** The time until a delivery is retried (specification, Limits; decisions, section 8). */

/** Maximum share by which jitter lengthens a delay; it never shortens one. */
const JITTER = 0.1;
/** Limits a receiver's `Retry-After` to this multiple of the delay. */
const LONGEST = 2;

export interface RetryPlan {
  /** Seconds after attempt 1, 2, 3, 4. */
  readonly retrySeconds: readonly number[];
  readonly attempt: number;
  /** From 0 to 1. */
  readonly random: number;
  /** Delay that the receiver asked for, if any. */
  readonly retryAfterMs?: number | undefined;
}

/** Delay in ms until the attempt after `attempt`. */
export const retryDelayMs = ({ retrySeconds, attempt, random, retryAfterMs }: RetryPlan): number => {
  const step = (retrySeconds[attempt - 1] ?? retrySeconds.at(-1) ?? 0) * 1000;
  const asked = Math.min(retryAfterMs ?? 0, step * LONGEST);
  return Math.max(Math.ceil(step), Math.floor(step * (1 + random * JITTER)), Math.floor(asked));
};
