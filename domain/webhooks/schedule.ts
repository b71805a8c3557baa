/** The time until a delivery is retried (specification, Limits; decisions, section 8). */

/** Delays get up to this much of themselves on top, and never anything off. */
const JITTER = 0.1;
/** A receiver that asks for more time gets at most so many times the delay. */
const LONGEST = 2;

export interface RetryPlan {
  /** Seconds after attempt 1, 2, 3, 4. */
  readonly retrySeconds: readonly number[];
  readonly attempt: number;
  /** From 0 to 1. */
  readonly random: number;
  /** The delay that the receiver asked for; undefined when it did not. */
  readonly retryAfterMs?: number | undefined;
}

/** ms until the attempt after `attempt`. */
export const retryDelayMs = ({ retrySeconds, attempt, random, retryAfterMs }: RetryPlan): number => {
  const step = (retrySeconds[attempt - 1] ?? retrySeconds.at(-1) ?? 0) * 1000;
  const asked = Math.min(retryAfterMs ?? 0, step * LONGEST);
  return Math.max(Math.ceil(step), Math.floor(step * (1 + random * JITTER)), Math.floor(asked));
};
