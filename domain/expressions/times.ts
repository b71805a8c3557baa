import { z } from 'zod';

const HOUR_AND_MINUTE = '(?:[01]\\d|2[0-3]):[0-5]\\d';
const INSTANT = new RegExp(`^(.{10})T${HOUR_AND_MINUTE}:[0-5]\\d(?:\\.\\d+)?(?:Z|[+-]${HOUR_AND_MINUTE})$`);

/** Whether a text is a calendar day `YYYY-MM-DD`. */
export const isDate = (text: string): boolean => z.regexes.date.test(text);

/** An RFC 3339 time in ms, truncated; undefined for another text or a year outside 0 to 9999. */
export function instantOf(text: string): number | undefined {
  const [, day = ''] = INSTANT.exec(text) ?? [];
  if (!isDate(day)) return undefined;
  const ms = Date.parse(text);
  return ms >= FIRST && ms <= LAST ? ms : undefined;
}

/** `YYYY-MM-DDTHH:MM:SS.mmmZ`, which sorts by time. */
export const instantKey = (ms: number): string => new Date(ms).toISOString();

const FIRST = Date.parse('0000-01-01T00:00:00Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');
