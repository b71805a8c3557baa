import { useSyncExternalStore } from 'react';
import { createStore } from './store.ts';

/** Creates the formats on first use, since creating each takes the browser long and would delay the page. */
const formats = () => {
  made ??= {
    exact: new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' }),
    relative: new Intl.RelativeTimeFormat(undefined, { numeric: 'auto', style: 'narrow' }),
  };
  return made;
};
let made: { readonly exact: Intl.DateTimeFormat; readonly relative: Intl.RelativeTimeFormat } | undefined;

/** Formats an instant for a `datetime-local` input, in the reader's time zone. */
export const localText = (instant: string): string => {
  const at = new Date(instant);
  return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, -1);
};

const UNITS = [
  ['year', 31_557_600],
  ['month', 2_629_800],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
] as const;

const ago = (at: number, now: number): string => {
  const seconds = (at - now) / 1000;
  const { relative } = formats();
  for (const [unit, size] of UNITS) {
    if (Math.abs(seconds) >= size) return relative.format(Math.trunc(seconds / size), unit);
  }
  return Math.abs(seconds) < 5 ? 'now' : relative.format(Math.trunc(seconds), 'second');
};

/** The one clock that updates all relative times. */
const clock = createStore(Date.now());
setInterval(() => clock.set(Date.now()), 10_000);

/** A moment less far ahead (ms) is shown as now: the server's clock may be ahead of this machine's clock. */
const NOW_MS = 60_000;

/** A moment in the reader's time zone. `relative`: "5 min ago", with the moment as its tooltip. */
export const Time = ({ at, relative: isRelative = false }: { at: string; relative?: boolean }) => {
  const present = useSyncExternalStore(clock.subscribe, clock.get);
  const ms = Date.parse(at);
  if (Number.isNaN(ms)) return <span>{at}</span>;
  const text = formats().exact.format(ms);
  return (
    <time dateTime={at} title={isRelative ? `${text} (${at})` : at}>
      {isRelative ? ago(ms, ms - present < NOW_MS ? Math.max(present, ms) : present) : text}
    </time>
  );
};
