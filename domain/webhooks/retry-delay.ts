/** The time until a delivery is retried (specification, Limits; decisions, section 8). */

const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads `Retry-After` of an answer with status 429 or 503, in ms from `now`. Undefined for any other status, and for a
 * header that is not whole seconds or an HTTP date.
 */
export const retryAfterOf = (status: number, header: string | undefined, now: number): number | undefined => {
  if ((status !== 429 && status !== 503) || header === undefined) return undefined;
  const value = header.trim();
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  if (!HTTP_DATE.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
};

/** Maximum share by which jitter lengthens a delay; jitter never shortens a delay. */
const JITTER = 0.1;
/** Limits a receiver's `Retry-After` to this multiple of the delay. */
const MAX_RETRY_AFTER_FACTOR = 2;

interface RetryPlan {
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
  const asked = Math.min(retryAfterMs ?? 0, step * MAX_RETRY_AFTER_FACTOR);
  return Math.max(Math.ceil(step), Math.floor(step * (1 + random * JITTER)), Math.floor(asked));
};
