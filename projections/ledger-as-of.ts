import { dayBefore } from '../domain/ledger/dates.ts';
import type { JournalEvent } from '../domain/ledger/journal.ts';
import { type Turnover, type Turnovers, turnoversOver } from './ledger-balances.ts';
import type { Books, Range } from './ledger-reports.ts';

/**
 * The books as they stood at a place in the log, from the journal itself: what a report of that moment was made of. Holds
 * the chart and a sum for each account, however many entries it is told of.
 */
export const booksAsOf = ({ currency, from, to }: Range) => {
  const chart = new Map<string, Books['chart'][number]>();
  const before = new Map<string, Turnover>();
  const through = new Map<string, Turnover>();
  const opening = from === undefined ? undefined : dayBefore(from);

  const add = (event: JournalEvent): void => {
    switch (event.type) {
      case 'AccountOpened':
      case 'AccountChanged': {
        const { account_id, code, name, type } = event.data;
        chart.set(account_id, { code, code_key: code.toLowerCase(), name, type });
        return;
      }
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

  const books = (): Books => ({
    // Codes are ASCII, and unique: one order, the read model's.
    chart: [...chart.values()].sort((a, b) => (a.code_key < b.code_key ? -1 : 1)),
    before: before satisfies Turnovers,
    through,
  });

  return { add, books };
};
