import type { JournalEvent } from '../../domain/ledger/journal.ts';
import { addBucket, openingOf, type Turnover, type Turnovers, turnoversOver } from './ledger-balances.ts';
import type { ChartChangeDoc, Recorded } from './ledger-recorded.ts';
import type { Balances, Range } from './ledger-reports.ts';

/**
 * Balances as of a position in the log (decision 19). Keeps only the chart and sums per account in memory.
 * @param recorded sums and chart of complete months of recording; `add` takes later events
 */
export const balancesAsOf = ({ currency, from, to }: Range, recorded?: Recorded) => {
  const chart = new Map<string, Balances['chart'][number]>();
  const before = new Map<string, Turnover>();
  const through = new Map<string, Turnover>();
  const opening = openingOf({ from, to });

  const setAccount = ({ account_id, code, name, type }: Omit<ChartChangeDoc, 'revision'>): void => {
    chart.set(account_id, { code, code_key: code.toLowerCase(), name, type });
  };

  for (const change of recorded?.chart ?? []) setAccount(change);
  for (const { period, account, buckets } of recorded?.sums ?? []) {
    for (const [day, bucket] of Object.entries(buckets)) {
      const date = `${period}-${day}`;
      if (date <= to) addBucket(through, account, bucket);
      if (opening !== undefined && date <= opening) addBucket(before, account, bucket);
    }
  }

  const add = (event: JournalEvent): void => {
    switch (event.type) {
      case 'AccountOpened':
      case 'AccountChanged':
        setAccount(event.data);
        return;
      case 'EntryPosted':
      case 'EntryReversed':
        if (event.data.currency !== currency) return;
        if (event.data.date <= to) turnoversOver(through, event.data.lines);
        if (opening !== undefined && event.data.date <= opening) turnoversOver(before, event.data.lines);
        return;
      case 'PostingRefused':
      case 'BooksLocked':
        return;
      default:
        event satisfies never;
    }
  };

  const balances = (): Balances => ({
    // Codes are unique ASCII texts, so `<` gives the order of the read model.
    chart: [...chart.values()].sort((a, b) => (a.code_key < b.code_key ? -1 : 1)),
    before: before satisfies Turnovers,
    through,
  });

  return { add, balances };
};
