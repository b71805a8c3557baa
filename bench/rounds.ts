import { setTimeout } from 'node:timers/promises';

/**
 * Measures several sides in alternation, each once per round, and returns each side's median. They alternate because
 * absolute times vary on a shared machine.
 */
export const alternate = async <Name extends string>(
  rounds: number,
  sides: Readonly<Record<Name, () => number | Promise<number>>>,
): Promise<Record<Name, number>> => {
  const names = Object.keys(sides) as Name[];
  const found = new Map<Name, number[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) found.get(name)?.push(await sides[name]());
  }
  const medians: Partial<Record<Name, number>> = {};
  for (const name of names) medians[name] = median(found.get(name) ?? []);
  return medians as Record<Name, number>;
};

/**
 * Median times of a large and a small case in alternation. Each case is first equally often; the first quarter is
 * warm-up.
 */
export const alternateCases = async (
  rounds: number,
  ask: (kind: 'large' | 'small') => Promise<unknown>,
): Promise<{ large: number; small: number }> => {
  const times = { large: [] as number[], small: [] as number[] };
  for (let nth = 0; nth < rounds; nth += 1) {
    for (const kind of nth % 2 === 0 ? (['large', 'small'] as const) : (['small', 'large'] as const)) {
      const began = performance.now();
      await ask(kind);
      if (nth >= rounds / 4) times[kind].push(performance.now() - began);
    }
  }
  return { large: median(times.large), small: median(times.small) };
};

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The smallest of the values such that at least `share` of them are not greater. */
export const percentile = (values: readonly number[], share: number): number => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
};

/** Returns the scaled size, at least `least`. */
export const scaled = (size: number, scale: number, least: number): number =>
  Math.max(least, Math.round(size * scale));

/** @param at a time of `performance.now()` */
export const until = (at: number): Promise<void> => setTimeout(Math.max(0, at - performance.now()));
