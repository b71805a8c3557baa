import type { ReactNode } from 'react';
import { Money, type MoneyProps } from './money.tsx';

interface FiguresProps {
  /** Names the table for screen readers. */
  readonly label: string;
  readonly id?: string;
  /** Titles of the columns; `figure` is the title of a column of numbers. */
  readonly columns: readonly (string | { readonly figure: string })[];
  /** The bodies and the foot of the table. */
  readonly children: ReactNode;
  /** Shown below the table. */
  readonly note?: ReactNode;
}

/** A table as large as its content, which scrolls sideways. `DataTable` is for lists that grow. */
export const Figures = ({ label, id, columns, children, note }: FiguresProps) => (
  <section className="scroll-x" id={id} aria-label={label} tabIndex={0}>
    <table className="figures">
      <thead>
        <tr>
          {columns.map((column) =>
            typeof column === 'string' ? (
              <th key={column} scope="col">
                {column}
              </th>
            ) : (
              <th key={column.figure} scope="col" className="figure">
                {column.figure}
              </th>
            ),
          )}
        </tr>
      </thead>
      {children}
    </table>
    {note}
  </section>
);

interface MoneyCellProps extends MoneyProps {
  /** Shown in place of 0. */
  readonly zero?: ReactNode;
}

/** A cell with an amount. */
export const MoneyCell = ({ zero, ...money }: MoneyCellProps) => (
  <td className="figure">{money.minor === 0 && zero !== undefined ? zero : <Money {...money} />}</td>
);
