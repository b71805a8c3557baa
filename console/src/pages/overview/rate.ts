/** Counts per second of the last minutes. */
export interface Rate {
  /** Seconds since 1970, ascending, without gaps. */
  readonly seconds: readonly number[];
  readonly counts: readonly number[];
}

export const emptyRate = (now: number, length: number): Rate => ({
  seconds: Array.from({ length }, (_, nth) => now - length + 1 + nth),
  counts: Array.from({ length }, () => 0),
});

/** Moves the window to `now`, and counts one event for each of the seconds in `at`. */
export const moved = (rate: Rate, now: number, at: readonly number[]): Rate => {
  const { length } = rate.seconds;
  const first = now - length + 1;
  const counts = Array.from({ length }, (_, nth) => {
    const before = first + nth - (rate.seconds[0] ?? first);
    return rate.counts[before] ?? 0;
  });
  for (const second of at) {
    const nth = Math.min(second, now) - first;
    if (nth >= 0) counts[nth] = (counts[nth] ?? 0) + 1;
  }
  return { seconds: Array.from({ length }, (_, nth) => first + nth), counts };
};
