/**
 * Accounts in groups by a hash of their code, as JSON. A change copies only one group and the list of groups. If each
 * change copied all accounts, folding a chart of 20,000 accounts would take a minute.
 */
export type ChartOf<A> = Readonly<Record<string, Readonly<Record<string, A>>>>;

interface Coded {
  readonly code: string;
}

/** With the largest quota, 5,000 accounts, a group has about 20 accounts. */
const GROUPS = 256;

/** Codes compare without case. The prefix separates codes from keys like `constructor`. */
const keyOf = (code: string): string => `#${code.toLowerCase()}`;

/** This function must never change, because stored snapshots hold the groups. */
const groupOf = (key: string): string => {
  let hash = 0;
  for (let at = 0; at < key.length; at += 1) hash = (hash * 31 + key.charCodeAt(at)) % 65_521;
  return `g${hash % GROUPS}`;
};

/** The account of a code; undefined when there is none. */
export const accountOf = <A>(chart: ChartOf<A>, code: string): A | undefined => {
  const key = keyOf(code);
  return chart[groupOf(key)]?.[key];
};

export const accountsIn = <A>(chart: ChartOf<A>): readonly A[] =>
  Object.values(chart).flatMap((group) => Object.values(group));

export const countOf = (chart: ChartOf<unknown>): number => {
  let count = 0;
  for (const group of Object.values(chart)) count += Object.keys(group).length;
  return count;
};

/** Adds an account, or replaces the account with the same code. */
export const withAccount = <A extends Coded>(chart: ChartOf<A>, account: A): ChartOf<A> => {
  const key = keyOf(account.code);
  const group = groupOf(key);
  return { ...chart, [group]: { ...chart[group], [key]: account } };
};

export const withoutAccount = <A>(chart: ChartOf<A>, code: string): ChartOf<A> => {
  const key = keyOf(code);
  const group = groupOf(key);
  const { [key]: _removed, ...others } = chart[group] ?? {};
  return { ...chart, [group]: others };
};
