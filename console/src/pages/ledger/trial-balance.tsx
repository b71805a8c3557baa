import { Link } from 'wouter';
import { Badge, Card, Money, Problem, useRead } from '../../kit/index.ts';
import { entriesPath, givenOf, type ReportQuery } from './range.tsx';
import { Balanced, NoEntries } from './report-tables.tsx';

const SUMS = [
  ['opening_debit', 'Opening debit'],
  ['opening_credit', 'Opening credit'],
  ['debit', 'Debit'],
  ['credit', 'Credit'],
  ['closing_debit', 'Closing debit'],
  ['closing_credit', 'Closing credit'],
] as const;

/** Every account with its opening, movement and closing. */
export const TrialBalance = ({ query }: { query: ReportQuery }) => {
  const report = useRead(['reports', 'trial-balance', query], (client, signal) =>
    client.get('/api/v1/tenant/reports/trial-balance', { params: { query: givenOf(query) }, signal }),
  );
  const { data } = report;
  if (data === undefined) return <Pending error={report.error} />;
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
        <section className="scroll-x" aria-label="Trial balance" tabIndex={0}>
          <table className="figures">
            <thead>
              <tr>
                <th scope="col">Account</th>
                {SUMS.map(([key, title]) => (
                  <th key={key} scope="col" className="figure">
                    {title}
                  </th>
                ))}
              </tr>
            </thead>
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
                    <td key={key} className="figure">
                      {account[key] === 0 ? (
                        <span className="muted">–</span>
                      ) : (
                        <Link
                          href={entriesPath(account.code, {
                            from: key.startsWith('opening') ? null : from,
                            to,
                          })}
                        >
                          <Money minor={account[key]} currency={currency} />
                        </Link>
                      )}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
            <tfoot>
              <tr className="total">
                <th scope="row">Total</th>
                {SUMS.map(([key]) => (
                  <td key={key} className="figure">
                    <Money minor={totals[key]} currency={currency} />
                  </td>
                ))}
              </tr>
            </tfoot>
          </table>
        </section>
      )}
    </Card>
  );
};

/** A report that is not there yet, or why. */
export const Pending = ({ error }: { error: Error | null }) => (
  <Card>
    {error === null ? (
      <div className="stack" role="status" aria-label="Loading the report">
        <span className="skeleton" />
        <span className="skeleton" />
        <span className="skeleton" />
      </div>
    ) : (
      <Problem error={error} />
    )}
  </Card>
);
