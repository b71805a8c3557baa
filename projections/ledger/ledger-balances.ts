import {
  type Document,
  type DocumentReader,
  type RangeQuery,
  type Touch,
  touch,
} from '../../domain/core/projection.ts';
import { type Line, totalsOf } from '../../domain/ledger/content.ts';
import { dayBefore } from '../../domain/ledger/dates.ts';
import type { PostingEvent } from '../../domain/ledger/journal.ts';
import { plus, type Sum } from '../../domain/ledger/money.ts';

/**
 * Posted amounts of each account, in buckets by day and month, so that a report sums few documents. Part of the
 * projection `ledger`. Debits and credits are summed separately, per currency.
 */

export type Bucket = readonly [debit: Sum, credit: Sum];
export type Buckets = Readonly<Record<string, Bucket>>;

/** The days of a month (`01` to `31`), or the months of a year (`01` to `12`), of one account. */
interface BalanceDoc {
  readonly currency: string;
  /** `YYYY-MM` for days, `YYYY` for months. */
  readonly period: string;
  /** The code in lower case. */
  readonly account: string;
  readonly buckets: Buckets;
}

export const balanceCollections = ['days', 'months'].map((name) => ({
  name,
  indexes: [{ name: 'by_period', fields: ['currency', 'period'] }],
}));

export const added = (buckets: Buckets = {}, key: string, lines: readonly Line[]): Buckets => {
  const [debits, credits] = buckets[key] ?? [0, 0];
  const { debit, credit } = totalsOf(lines);
  return { ...buckets, [key]: [plus(debits, debit), plus(credits, credit)] };
};

/** A posting's lines by account code in lower case. */
export const linesByAccount = (lines: PostingEvent['data']['lines']) =>
  Map.groupBy(lines, ({ account_code }) => account_code.toLowerCase());

export const balanceTouches = ({ data }: PostingEvent): Touch[] => {
  const { currency, date } = data;
  return [...linesByAccount(data.lines)].flatMap(([account, lines]) =>
    (
      [
        ['days', date.slice(0, 7), date.slice(8, 10)],
        ['months', date.slice(0, 4), date.slice(5, 7)],
      ] as const
    ).map(([collection, period, key]) =>
      touch<BalanceDoc>(collection, `${currency}.${period}.${account}`, (doc) => ({
        currency,
        period,
        account,
        buckets: added(doc?.buckets, key, lines),
      })),
    ),
  );
};

// Queries

/** Sums of an account's debits and credits, minor units. */
export interface Turnover {
  readonly debit: bigint;
  readonly credit: bigint;
}

/** Accounts with postings, by code in lower case. */
export type Turnovers = ReadonlyMap<string, Turnover>;

/** A range of days, both ends included; without `from`, all days up to `to`. */
export interface Days {
  readonly from: string | undefined;
  readonly to: string;
}

const monthOf = (day: string): string => day.slice(0, 7);

/** The day before a range, up to which the opening balances are summed. */
export const openingOf = ({ from }: Days): string | undefined => from && dayBefore(from);

/**
 * Queries for {@link turnoversIn}, which sums amounts up to one or two days (cuts): all months through the year of the
 * last cut, and all days of each cut's month.
 */
export const balanceQueries = (currency: string, days: Days): readonly RangeQuery[] => {
  const cuts = [openingOf(days), days.to].filter((cut) => cut !== undefined).sort();
  const last = cuts.at(-1) ?? '';
  const of = { index: 'by_period', order: 'asc' } as const;
  return [
    // `~` sorts after every digit, so the range includes the months of the last year.
    { ...of, collection: 'months', equals: [currency], range: { lt: `${last.slice(0, 4)}~` } },
    ...[...new Set(cuts.map(monthOf))].map((month) => ({
      ...of,
      collection: 'days',
      equals: [currency, month],
    })),
  ];
};

/** Adds the lines of a posting to `sums`. */
export const turnoversOver = (sums: Map<string, Turnover>, lines: PostingEvent['data']['lines']): void => {
  for (const { account_code, debit, credit } of lines) {
    addBucket(sums, account_code.toLowerCase(), [debit, credit]);
  }
};

/** Lets other work run if a long computation has used its time. */
export type Pause = () => Promise<void> | undefined;

/** Documents that are summed between two pauses. */
const SUMMED = 128;

/**
 * Sums of amounts dated before a range (`before`), and up to the end of the range (`through`).
 * @param found results of {@link balanceQueries}, read together
 */
export const turnoversIn = async (
  found: readonly (readonly Document[])[],
  days: Days,
  pause: Pause,
): Promise<{ readonly before: Turnovers; readonly through: Turnovers }> => {
  // These collections hold only documents of type `BalanceDoc`.
  const [months = [], ...parts] =
    found as readonly (readonly unknown[])[] as readonly (readonly BalanceDoc[])[];
  const through = async (cut: string): Promise<Turnovers> => {
    const turnovers = new Map<string, Turnover>();
    for (const [nth, { period, account, buckets }] of months.entries()) {
      if (nth % SUMMED === SUMMED - 1) await pause();
      for (const [month, bucket] of Object.entries(buckets)) {
        if (`${period}-${month}` < monthOf(cut)) addBucket(turnovers, account, bucket);
      }
    }
    for (const [nth, { period, account, buckets }] of parts.flat().entries()) {
      if (nth % SUMMED === SUMMED - 1) await pause();
      if (period !== monthOf(cut)) continue;
      for (const [day, bucket] of Object.entries(buckets)) {
        if (`${period}-${day}` <= cut) addBucket(turnovers, account, bucket);
      }
    }
    return turnovers;
  };
  const opening = openingOf(days);
  const before = opening === undefined ? new Map() : await through(opening);
  return { before, through: await through(days.to) };
};

export const addBucket = (
  turnovers: Map<string, Turnover>,
  account: string,
  [debit, credit]: Bucket,
): void => {
  const sofar = turnovers.get(account);
  turnovers.set(account, {
    debit: (sofar?.debit ?? 0n) + BigInt(debit),
    credit: (sofar?.credit ?? 0n) + BigInt(credit),
  });
};

/** Currencies with postings. */
export const currenciesOf = async (reader: DocumentReader, tenantId: string): Promise<readonly string[]> => {
  const found: string[] = [];
  for (;;) {
    const last = found.at(-1);
    const { docs } = await reader.find<BalanceDoc>('months', tenantId, {
      index: 'by_period',
      equals: [],
      ...(last === undefined ? {} : { range: { gt: last } }),
      order: 'asc',
      limit: 1,
    });
    const [doc] = docs;
    if (doc === undefined) return found;
    found.push(doc.currency);
  }
};
