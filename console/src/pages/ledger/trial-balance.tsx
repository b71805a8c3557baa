import { Link } from 'wouter';
import { Badge, Card, Figures, given, MoneyCell, PendingCard, useRead } from '../../kit/index.ts';
import { type Days, dayBefore, entriesPath, type ReportQuery } from './range.tsx';
import { Balanced, NoEntries } from './report-tables.tsx';

const SUMS = [
  ['opening_debit', 'Opening debit'],
  ['opening_credit', 'Opening credit'],
  ['debit', 'Debit'],
  ['credit', 'Credit'],
  ['closing_debit', 'Closing debit'],
  ['closing_credit', 'Closing credit'],
] as const;

/** The days of the entries that make up a sum. */
const daysOf = (key: (typeof SUMS)[number][0], { from, to }: { from: string | null; to: string }): Days => {
  if (key.startsWith('closing')) return { to };
  if (key.startsWith('opening')) return { to: from === null ? to : dayBefore(from) };
  return { from, to };
};

/** Each account that has entries, with its opening balance, movement and closing balance. */
export const TrialBalance = ({ query }: { query: ReportQuery }) => {
  const report = useRead(['reports', 'trial-balance', query], (client, signal) =>
    client.get('/api/v1/tenant/reports/trial-balance', { params: { query: given(query) }, signal }),
  );
  const { data } = report;
  if (data === undefined) return <PendingCard of={report} what="the report" />;
  const { currency, from, to, accounts, totals, balanced } = data;
  return (
    <Card
      flush
      title={`Trial balance ${from === null ? '' : `from ${from} `}to ${to}`}
      actions={<Balanced is={balanced} />}
    >
      {accounts.length === 0 ? (
        <NoEntries />
      ) : (
        <Figures label="Trial balance" columns={['Account', ...SUMS.map(([, title]) => ({ figure: title }))]}>
          <tbody>
            {accounts.map((account) => (
              <tr key={account.code}>
                <th scope="row">
                  <Link href={entriesPath(account.code, { from, to })}>
                    <span className="muted">{account.code}</span> {account.name}
                  </Link>{' '}
                  <Badge>{account.type}</Badge>
                </th>
                {SUMS.map(([key]) => (
                  <MoneyCell
                    key={key}
                    minor={account[key]}
                    currency={currency}
                    to={entriesPath(account.code, daysOf(key, data))}
                    zero={<span className="muted">–</span>}
                  />
                ))}
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr className="total">
              <th scope="row">Total</th>
              {SUMS.map(([key]) => (
                <MoneyCell
                  key={key}
                  minor={totals[key]}
                  currency={currency}
                  to={entriesPath(undefined, daysOf(key, data))}
                />
              ))}
            </tr>
          </tfoot>
        </Figures>
      )}
    </Card>
  );
};
