/** When a delivery is tried again (specification, Limits; decisions, section 8). */

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
  /** What the receiver asked for; undefined when it did not. */
  readonly retryAfterMs?: number | undefined;
}

/** ms until the attempt after `attempt`. */
export const retryDelayMs = ({ retrySeconds, attempt, random, retryAfterMs }: RetryPlan): number => {
  const step = (retrySeconds[attempt - 1] ?? retrySeconds.at(-1) ?? 0) * 1000;
  const asked = Math.min(retryAfterMs ?? 0, step * LONGEST);
  return Math.max(Math.ceil(step), Math.floor(step * (1 + random * JITTER)), Math.floor(asked));
};

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * `Retry-After` of a 429 or 503, in ms from `now`; undefined for another status, and for what is neither whole seconds
 * nor a date.
 */
export const retryAfterOf = (status: number, header: string | undefined, now: number): number | undefined => {
  if ((status !== 429 && status !== 503) || header === undefined) return undefined;
  const value = header.trim();
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  if (!HTTP_DATE.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
};
