import { closedLoop } from '../http/load.ts';
import { percentile } from '../rounds.ts';

export interface Rate {
  readonly perSecond: number;
  /** 99th percentile of the answers, in ms. */
  readonly p99: number;
}

/**
 * Measures a closed loop of several connections.
 * @param requests the requests of the nth connection, sent in a cycle
 * @throws at the first answer other than 200
 */
export const rateOf = async (
  port: number,
  connections: number,
  seconds: number,
  requests: (nth: number) => readonly Buffer[],
): Promise<Rate> => {
  const times: number[] = [];
  const perSecond = await closedLoop({
    port,
    requests: Array.from({ length: connections }, (_, nth) => requests(nth)),
    seconds,
    expectedStatus: 200,
    onAnswer: (ms) => times.push(ms),
  });
  return { perSecond, p99: percentile(times, 0.99) };
};

/** Runs several sides in alternation, and returns each side's median round by rate. */
export const alternately = async <Name extends string>(
  rounds: number,
  sides: Readonly<Record<Name, () => Promise<Rate>>>,
): Promise<Record<Name, Rate>> => {
  const names = Object.keys(sides) as Name[];
  const found = new Map<Name, Rate[]>(names.map((name) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const name of names) found.get(name)?.push(await sides[name]());
  }
  const medians: Partial<Record<Name, Rate>> = {};
  for (const [name, rates] of found) {
    medians[name] = rates.toSorted((a, b) => a.perSecond - b.perSecond)[rates.length >> 1];
  }
  return medians as Record<Name, Rate>;
};
