import { dayBefore } from '../domain/ledger/dates.ts';
import type { PostingEvent } from '../domain/ledger/journal.ts';
import { plus, type Sum } from '../domain/ledger/money.ts';
import type { DocumentReader, PageEnd } from '../domain/projection.ts';
import { type Touch, touch } from '../domain/projection.ts';

/**
 * What was posted to each account, in buckets by day and by month: a report adds a few of them up, however many entries
 * there are. A part of the projection `ledger`. Sums are gross and per currency.
 */

type Bucket = readonly [debit: Sum, credit: Sum];
type Buckets = Readonly<Record<string, Bucket>>;

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

const added = (buckets: Buckets, key: string, debit: number, credit: number): Buckets => {
  const [debits, credits] = buckets[key] ?? [0, 0];
  return { ...buckets, [key]: [plus(debits, debit), plus(credits, credit)] };
};

export const balanceTouches = ({ data }: PostingEvent): Touch[] => {
  const moved = new Map<string, { debit: number; credit: number }>();
  for (const { account_code, debit, credit } of data.lines) {
    const account = account_code.toLowerCase();
    const before = moved.get(account);
    moved.set(account, { debit: (before?.debit ?? 0) + debit, credit: (before?.credit ?? 0) + credit });
  }
  const { currency, date } = data;
  return [...moved].flatMap(([account, { debit, credit }]) =>
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
        buckets: added(doc?.buckets ?? {}, key, debit, credit),
      })),
    ),
  );
};

// Queries

/** Gross sums of an account, minor units. */
export interface Turnover {
  readonly debit: bigint;
  readonly credit: bigint;
}

/** Accounts by their code in lower case; only those that anything was posted to. */
export type Turnovers = ReadonlyMap<string, Turnover>;

/** Adds the lines of a posting. */
export const turnoversOver = (sums: Map<string, Turnover>, lines: PostingEvent['data']['lines']): void => {
  for (const { account_code, debit, credit } of lines) {
    const account = account_code.toLowerCase();
    const before = sums.get(account);
    sums.set(account, {
      debit: (before?.debit ?? 0n) + BigInt(debit),
      credit: (before?.credit ?? 0n) + BigInt(credit),
    });
  }
};

/**
 * All that was posted through each of some days.
 * @param days what lies before the first of all days is nothing
 */
export const turnoversThrough = async (
  reader: DocumentReader,
  tenantId: string,
  currency: string,
  days: readonly string[],
): Promise<readonly Turnovers[]> => {
  const sums = days.map(() => new Map<string, Turnover>());
  const add = (nth: number, account: string, [debit, credit]: Bucket): void => {
    const before = sums[nth]?.get(account);
    sums[nth]?.set(account, {
      debit: (before?.debit ?? 0n) + BigInt(debit),
      credit: (before?.credit ?? 0n) + BigInt(credit),
    });
  };
  const last = days.toSorted().at(-1) ?? '';
  for await (const doc of docsOf(reader, 'months', tenantId, {
    equals: [currency],
    through: last.slice(0, 4),
  })) {
    for (const [month, bucket] of Object.entries(doc.buckets)) {
      days.forEach((day, nth) => {
        if (`${doc.period}-${month}` < day.slice(0, 7)) add(nth, doc.account, bucket);
      });
    }
  }
  for (const period of new Set(days.map((day) => day.slice(0, 7)))) {
    for await (const doc of docsOf(reader, 'days', tenantId, { equals: [currency, period] })) {
      for (const [number, bucket] of Object.entries(doc.buckets)) {
        days.forEach((day, nth) => {
          if (period === day.slice(0, 7) && `${period}-${number}` <= day) add(nth, doc.account, bucket);
        });
      }
    }
  }
  return sums;
};

/** What was posted through a day, and from one day to another, both ends in. */
export const turnoversOf = async (
  reader: DocumentReader,
  tenantId: string,
  currency: string,
  { from, to }: { readonly from: string | undefined; readonly to: string },
): Promise<{ readonly before: Turnovers; readonly through: Turnovers }> => {
  if (from === undefined) {
    const [through = new Map()] = await turnoversThrough(reader, tenantId, currency, [to]);
    return { before: new Map(), through };
  }
  const days = [dayBefore(from), to];
  const [before = new Map(), through = new Map()] = await turnoversThrough(reader, tenantId, currency, days);
  return { before, through };
};

const PAGE = 1000;

async function* docsOf(
  reader: DocumentReader,
  collection: string,
  tenantId: string,
  { equals, through }: { readonly equals: readonly string[]; readonly through?: string },
): AsyncGenerator<BalanceDoc> {
  let after: PageEnd | undefined;
  do {
    const page = await reader.find<BalanceDoc>(collection, tenantId, {
      index: 'by_period',
      equals,
      // No period lies between a year and the year with a sign that comes after every digit.
      ...(through === undefined ? {} : { range: { lt: `${through}~` } }),
      order: 'asc',
      limit: PAGE,
      after,
    });
    yield* page.docs;
    after = page.next;
  } while (after !== undefined);
}

/** Currencies that anything was posted in. */
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
