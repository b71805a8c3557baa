import { instantKey, instantOf } from '../expressions/times.ts';

/** Local times without a zone, as `<input type="datetime-local">` sends them. */

const LOCAL = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::(\d{2}(?:\.\d{1,3})?))?$/;

/** The end of a time with its offset from UTC, such as `GMT-05:50:36` or `GMT`. */
const OFFSET = /GMT(?:([+-])(\d{2}):(\d{2})(?::(\d{2}))?)?$/;

/** Offset of a time zone from UTC at an instant, in ms. */
const offsetAt = (ms: number, timeZone: string): number => {
  const text = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }).format(ms);
  const [, sign, hours = 0, minutes = 0, seconds = 0] = OFFSET.exec(text) ?? [];
  const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000;
  return sign === '-' ? -offset : offset;
};

/**
 * The instant of a local time in a zone, RFC 3339; undefined for another text. When clocks change, a repeated time
 * gives the earlier instant, and a skipped time is moved forward by the gap.
 */
export const instantOfLocal = (text: string, timeZone: string): string | undefined => {
  const [, date = '', minutes = '', seconds = '00'] = LOCAL.exec(text) ?? [];
  const asUtc = instantOf(`${date}T${minutes}:${seconds}Z`);
  if (asUtc === undefined) return undefined;
  const day = 86_400_000;
  const offsets = [offsetAt(asUtc - day, timeZone), offsetAt(asUtc + day, timeZone)];
  const fitting = offsets.map((each) => asUtc - each).filter((ms) => ms + offsetAt(ms, timeZone) === asUtc);
  const found = fitting.length > 0 ? Math.min(...fitting) : asUtc - (offsets[0] ?? 0);
  return instantOf(new Date(found).toISOString()) === undefined ? undefined : instantKey(found);
};
