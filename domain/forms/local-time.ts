import { instantKey, instantOf } from '../expressions/times.ts';

/** Local times without a zone, as `<input type="datetime-local">` sends them. */

const LOCAL = /^(\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2})(?::(\d{2}(?:\.\d{1,3})?))?$/;

/** Offset of a time zone from UTC at an instant, in ms. */
const offsetAt = (ms: number, timeZone: string): number => {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  }).formatToParts(ms);
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? '0';
  const year = part('era') === 'BC' ? 1 - Number(part('year')) : Number(part('year'));
  const wall = new Date(0);
  wall.setUTCFullYear(year, Number(part('month')) - 1, Number(part('day')));
  wall.setUTCHours(Number(part('hour')), Number(part('minute')), Number(part('second')));
  return wall.getTime() - Math.floor(ms / 1000) * 1000;
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
