import type { ReactNode } from 'react';
import { Link } from 'wouter';
import { Badge, Empty, Money } from '../../kit/index.ts';
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
    <td className="figure">
      <Link href={entriesPath(row.code, row)}>
        <Money minor={row.amount} currency={currency} />
      </Link>
    </td>
  </tr>
);

export interface Section {
  readonly title: string;
  readonly lines: readonly Amount[];
  readonly total: readonly [title: string, minor: number];
  /** Rows that are no accounts. */
  readonly more?: readonly (readonly [title: string, minor: number])[];
}

interface StatementProps {
  readonly label: string;
  readonly currency: string;
  readonly from: string | null;
  readonly to: string;
  readonly sections: readonly Section[];
  readonly result?: readonly [title: string, minor: number];
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
      {sections.map(({ title, lines, total: [name, minor], more = [] }) => (
        <tbody key={title}>
          <tr className="section">
            <th scope="colgroup" colSpan={2}>
              {title}
            </th>
          </tr>
          {lines.map((line) => (
            <AccountRow key={line.code} row={{ ...line, from, to }} currency={currency} />
          ))}
          {more.map(([what, sum]) => (
            <tr key={what}>
              <th scope="row">{what}</th>
              <td className="figure">
                <Money minor={sum} currency={currency} />
              </td>
            </tr>
          ))}
          <tr className="total">
            <th scope="row">{name}</th>
            <td className="figure">
              <Money minor={minor} currency={currency} />
            </td>
          </tr>
        </tbody>
      ))}
      {result === undefined ? null : (
        <tfoot>
          <tr className="total">
            <th scope="row">{result[0]}</th>
            <td className="figure">
              <Money minor={result[1]} currency={currency} />
            </td>
          </tr>
        </tfoot>
      )}
    </table>
  </section>
);

/** Whether both sides are equal; anything else is a fault of the product. */
export const Balanced = ({ is }: { is: boolean }) =>
  is ? <Badge tone="ok">Balanced</Badge> : <Badge tone="danger">Not balanced</Badge>;

export const NoEntries = ({ children }: { children?: ReactNode }) => (
  <Empty title="No posted entries in this range">
    <p>Reports count what is posted. Drafts do not appear here.</p>
    {children}
  </Empty>
);
