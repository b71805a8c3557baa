import { Badge, Empty, MoneyCell } from '../../kit/index.ts';
import { entriesPath } from './range.tsx';

export interface Amount {
  readonly code: string;
  readonly name: string;
  readonly amount: number;
}

interface Row extends Amount {
  readonly from: string | null;
  readonly to: string;
}

/** An account with its figure, which leads to the entries that make it up. */
const AccountRow = ({ row, currency }: { row: Row; currency: string }) => (
  <tr>
    <th scope="row">
      <span className="muted">{row.code}</span> {row.name}
    </th>
    <MoneyCell minor={row.amount} currency={currency} to={entriesPath(row.code, row)} />
  </tr>
);

/** A row with a sum instead of an account; `to` is the path of the report that the sum comes from. */
export interface Sum {
  readonly title: string;
  readonly minor: number;
  readonly to: string;
}

interface Section {
  readonly title: string;
  readonly lines: readonly Amount[];
  readonly more?: Sum;
  readonly total: Sum;
}

interface StatementProps {
  readonly label: string;
  readonly currency: string;
  readonly from: string | null;
  readonly to: string;
  readonly sections: readonly Section[];
  readonly result?: Sum;
}

/** A profit and loss or a balance sheet: sections of accounts with their totals. */
export const Statement = ({ label, currency, from, to, sections, result }: StatementProps) => (
  <section className="scroll-x" aria-label={label} tabIndex={0}>
    <table className="figures">
      <caption className="hidden-text">{label}</caption>
      <thead>
        <tr>
          <th scope="col">Account</th>
          <th scope="col" className="figure">
            {currency}
          </th>
        </tr>
      </thead>
      {sections.map(({ title, lines, total, more }) => (
        <tbody key={title}>
          <tr className="section">
            <th scope="colgroup" colSpan={2}>
              {title}
            </th>
          </tr>
          {lines.map((line) => (
            <AccountRow key={line.code} row={{ ...line, from, to }} currency={currency} />
          ))}
          {more === undefined ? null : <SumRow of={more} currency={currency} />}
          <SumRow isTotal of={total} currency={currency} />
        </tbody>
      ))}
      {result === undefined ? null : (
        <tfoot>
          <SumRow isTotal of={result} currency={currency} />
        </tfoot>
      )}
    </table>
  </section>
);

interface SumRowProps {
  readonly of: Sum;
  readonly currency: string;
  readonly isTotal?: boolean;
}

const SumRow = ({ of: { title, minor, to }, currency, isTotal = false }: SumRowProps) => (
  <tr className={isTotal ? 'total' : undefined}>
    <th scope="row">{title}</th>
    <MoneyCell minor={minor} currency={currency} to={to} />
  </tr>
);

/** Shows whether both sides are equal. Unequal sides are a bug of the product. */
export const Balanced = ({ is }: { is: boolean }) =>
  is ? <Badge tone="ok">Balanced</Badge> : <Badge tone="danger">Not balanced</Badge>;

export const NoEntries = () => (
  <Empty title="No posted entries in this range">
    <p>Reports count what is posted. Drafts do not appear here.</p>
  </Empty>
);
