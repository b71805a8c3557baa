const HTTP_DATE = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/**
 * Reads `Retry-After` of a 429 or 503, in ms from `now`; undefined for another status, or a header that is neither
 * whole seconds nor a date.
 */
export const retryAfterOf = (status: number, header: string | undefined, now: number): number | undefined => {
  if ((status !== 429 && status !== 503) || header === undefined) return undefined;
  const value = header.trim();
  if (/^[0-9]{1,9}$/.test(value)) return Number(value) * 1000;
  if (!HTTP_DATE.test(value)) return undefined;
  const at = Date.parse(value);
  return Number.isNaN(at) ? undefined : Math.max(0, at - now);
};
