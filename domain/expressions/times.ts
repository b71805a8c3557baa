const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const INSTANT = /^(\d{4}-\d{2}-\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:Z|[+-](\d{2}):(\d{2}))$/;

/** Whether a text is a calendar day `YYYY-MM-DD`. */
export function isDate(text: string): boolean {
  const parts = DATE.exec(text);
  if (parts === null) return false;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  return month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
}

/** An RFC 3339 time in ms, truncated; undefined for another text or a year outside 0 to 9999. */
export function instantOf(text: string): number | undefined {
  const parts = INSTANT.exec(text);
  if (parts === null || !isDate(parts[1] ?? '')) return undefined;
  const [hour, minute, second, offsetHour, offsetMinute] = parts.slice(2).map((part) => Number(part ?? 0));
  const late = (hour ?? 0) > 23 || (minute ?? 0) > 59 || (second ?? 0) > 59;
  if (late || (offsetHour ?? 0) > 23 || (offsetMinute ?? 0) > 59) return undefined;
  const ms = Date.parse(text);
  return ms >= FIRST && ms <= LAST ? ms : undefined;
}

/** `YYYY-MM-DDTHH:MM:SS.mmmZ`, which sorts by time. */
export const instantKey = (ms: number): string => new Date(ms).toISOString();

const FIRST = Date.parse('0000-01-01T00:00:00Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

function daysIn(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}
