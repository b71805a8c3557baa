import { isDate } from '../expressions/times.ts';

/** Days of the calendar, `YYYY-MM-DD`: their order as text is that of time. */

/** A real day of the years 0001 to 9999. */
export const isDay = (text: string): boolean => isDate(text) && !text.startsWith('0000');

/** Which day it is in a time zone. @param ms an instant */
export const dayIn = (ms: number, timeZone: string): string => {
  const parts = calendarOf(timeZone).formatToParts(ms);
  const part = (type: string): string => parts.find((each) => each.type === type)?.value ?? '';
  return `${part('year').padStart(4, '0')}-${part('month')}-${part('day')}`;
};

/** Making one costs far more than asking it; there are some hundred time zones, by all their names. */
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

/** The day before; before the first day of all there is `0000-12-31`, on which nothing can be. */
export const dayBefore = (day: string): string => shifted(day, -1);

/** The day after; after the last day of all there is `9999-12-32`, on which nothing can be. */
export const dayAfter = (day: string): string => (day === '9999-12-31' ? '9999-12-32' : shifted(day, 1));

const shifted = (day: string, days: number): string => {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
};

/** 1 January of a day's year. */
export const yearStart = (day: string): string => `${day.slice(0, 4)}-01-01`;
