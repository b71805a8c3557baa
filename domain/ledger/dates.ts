import { isDate } from '../expressions/times.ts';

/** Calendar days `YYYY-MM-DD`, which sort by time. */

/** Whether a text is a real day of the years 0001 to 9999. */
export const isDay = (text: string): boolean => isDate(text) && !text.startsWith('0000');

/** The day of an instant in a time zone. @param ms an instant */
export const dayIn = (ms: number, timeZone: string): string => {
  const parts = calendarOf(timeZone).formatToParts(ms);
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
};

/** Formatters by time zone: creating a formatter is expensive, and there are only a few hundred zones. */
const calendars = new Map<string, Intl.DateTimeFormat>();

const calendarOf = (timeZone: string): Intl.DateTimeFormat => {
  const known = calendars.get(timeZone);
  if (known !== undefined) return known;
  const made = new Intl.DateTimeFormat('en-US', {
    timeZone,
    calendar: 'gregory',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  });
  calendars.set(timeZone, made);
  return made;
};

/** The previous day. For the first day it is `0000-12-31`, a date that no entry has. */
export const dayBefore = (day: string): string => shifted(day, -1);

/** The next day. For the last day it is `9999-12-32`, a date that no entry has. */
export const dayAfter = (day: string): string => (day === '9999-12-31' ? '9999-12-32' : shifted(day, 1));

const shifted = (day: string, days: number): string => {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
};

/** 1 January of the day's year. */
export const yearStart = (day: string): string => `${day.slice(0, 4)}-01-01`;
