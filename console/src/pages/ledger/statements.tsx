import { MonthsCard } from '../../kit/chart.tsx';
import { Card, given, moneyText, PendingCard, useRead } from '../../kit/index.ts';
import { type ReportQuery, reportPath } from './range.tsx';
import { Balanced, NoEntries, Statement, type Sum } from './report-tables.tsx';

const MONTHS = 12;
/** The first day that an entry can have, since the earnings of a balance sheet are those of all years. */
const FIRST_DAY = '0001-01-01';
const isoDay = (date: Date): string => date.toISOString().slice(0, 10);

/** First and last day of each of the twelve months up to a day. */
const monthsTo = (day: string): { readonly from: string; readonly to: string }[] => {
  const last = new Date(`${day}T00:00:00Z`);
  return Array.from({ length: MONTHS }, (_, nth) => {
    const first = Date.UTC(last.getUTCFullYear(), last.getUTCMonth() - (MONTHS - 1 - nth), 1);
    const from = new Date(first);
    const to = new Date(Date.UTC(from.getUTCFullYear(), from.getUTCMonth() + 1, 0));
    return { from: isoDay(from), to: isoDay(to) };
  });
};

/** Revenue and expenses of a range, and a chart of the twelve months up to the end of the range. */
export const ProfitAndLoss = ({ query }: { query: ReportQuery }) => {
  const parts = given(query);
  const report = useRead(['reports', 'pnl', query], (client, signal) =>
    client.get('/api/v1/tenant/reports/pnl', { params: { query: parts }, signal }),
  );
  const months = monthsTo(report.data?.to ?? isoDay(new Date()));
  const chart = useRead(
    ['reports', 'pnl-months', months[0]?.from, query.currency, query.as_of_position],
    (client, signal) =>
      Promise.all(
        months.map((month) =>
          client.get('/api/v1/tenant/reports/pnl', { params: { query: { ...parts, ...month } }, signal }),
        ),
      ),
    { enabled: report.data !== undefined },
  );
  if (report.data === undefined) return <PendingCard of={report} what="the report" />;
  const pnl = report.data;
  const { currency, from, to: last, revenue, expenses } = pnl;
  // In the trial balance, each account links to its entries.
  const to = reportPath('trial-balance', query, { from, to: last });
  const sum = (title: string, minor: number): Sum => ({ title, minor, to });
  return (
    <div className="stack">
      <MonthsCard
        title="By month"
        label={`Revenue, expenses and net income of the months ${months[0]?.from.slice(0, 7)} to ${last.slice(0, 7)}; net income of the range is ${moneyText(pnl.net_income, currency)}.`}
        what="the months"
        months={months}
        read={chart}
        series={[
          ['Revenue', (month) => month.total_revenue],
          ['Expenses', (month) => month.total_expenses],
          ['Net income', (month) => month.net_income],
        ]}
        currency={currency}
      />
      <Card flush title={`Profit and loss from ${from} to ${last}`}>
        {revenue.length + expenses.length === 0 ? (
          <NoEntries />
        ) : (
          <Statement
            label="Profit and loss"
            currency={currency}
            from={from}
            to={last}
            sections={[
              { title: 'Revenue', lines: revenue, total: sum('Total revenue', pnl.total_revenue) },
              {
                title: 'Expenses',
                lines: expenses,
                total: sum('Total expenses', pnl.total_expenses),
              },
            ]}
            result={sum('Net income', pnl.net_income)}
          />
        )}
      </Card>
    </div>
  );
};

/** Assets, liabilities and equity as of a day, and a chart of their sums at the end of each of twelve months. */
export const BalanceSheet = ({ query }: { query: ReportQuery }) => {
  const { to: asOf, ...rest } = given({ ...query, from: '' });
  const parts = { ...rest, ...(asOf === undefined ? {} : { as_of: asOf }) };
  const report = useRead(['reports', 'balance-sheet', query], (client, signal) =>
    client.get('/api/v1/tenant/reports/balance-sheet', { params: { query: parts }, signal }),
  );
  const months = monthsTo(report.data?.as_of ?? isoDay(new Date()));
  const chart = useRead(
    ['reports', 'balance-sheet-months', months[0]?.from, query.currency, query.as_of_position],
    (client, signal) =>
      Promise.all(
        months.map(({ to }) =>
          client.get('/api/v1/tenant/reports/balance-sheet', {
            params: { query: { ...rest, as_of: to } },
            signal,
          }),
        ),
      ),
    { enabled: report.data !== undefined },
  );
  if (report.data === undefined) return <PendingCard of={report} what="the report" />;
  const sheet = report.data;
  const { currency, as_of: day } = sheet;
  const isEmpty = sheet.assets.length + sheet.liabilities.length + sheet.equity.length === 0;
  const to = reportPath('trial-balance', query, { to: day });
  const sum = (title: string, minor: number): Sum => ({ title, minor, to });
  return (
    <div className="stack">
      <MonthsCard
        title="At the end of each month"
        label={`Total assets, liabilities and equity at the end of each month up to ${day}; assets are ${moneyText(sheet.total_assets, currency)} now.`}
        what="the months"
        months={months}
        read={chart}
        series={[
          ['Assets', (month) => month.total_assets],
          ['Liabilities', (month) => month.total_liabilities],
          ['Equity', (month) => month.total_equity],
        ]}
        currency={currency}
      />
      <Card flush title={`Balance sheet as of ${day}`} actions={<Balanced is={sheet.balanced} />}>
        {isEmpty && sheet.current_earnings === 0 ? (
          <NoEntries />
        ) : (
          <Statement
            label="Balance sheet"
            currency={currency}
            from={null}
            to={day}
            sections={[
              { title: 'Assets', lines: sheet.assets, total: sum('Total assets', sheet.total_assets) },
              {
                title: 'Liabilities',
                lines: sheet.liabilities,
                total: sum('Total liabilities', sheet.total_liabilities),
              },
              {
                title: 'Equity',
                lines: sheet.equity,
                more: {
                  title: 'Current earnings',
                  minor: sheet.current_earnings,
                  to: reportPath('pnl', query, { from: FIRST_DAY, to: day }),
                },
                total: sum('Total equity', sheet.total_equity),
              },
            ]}
          />
        )}
      </Card>
    </div>
  );
};
