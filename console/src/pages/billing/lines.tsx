import { Link } from 'wouter';
import { Badge, Count, Empty, Figures, MoneyCell } from '../../kit/index.ts';
import { type Line, METERS, Percent, type Range, rangeQuery, windowText } from './range.tsx';
import type { Statement } from './statements.tsx';

/** Path of the page that sets included quantities and prices. */
const PRICES = '/billing/prices';

const FIGURES = ['Count', 'Included', 'Billable', 'Wholesale rate', 'Wholesale', 'Retail rate', 'Retail'];

interface LinesProps {
  readonly label: string;
  /** A statement, or an invoice. */
  readonly of: Pick<Statement, 'customer' | 'currency' | 'lines' | 'totals'> & { readonly window: Range };
  /** Path that totals and margin link to: the reconciliation for a statement, the statement for an invoice. */
  readonly totalsTo: string;
  /** Whether the texts of the invoice are shown. */
  readonly texts?: boolean;
}

/**
 * Lines of a statement or an invoice with totals. Counts and amounts link to events, rates and included quantities to
 * the rate card, totals to `totalsTo`.
 */
export const Lines = ({ label, of, totalsTo, texts = false }: LinesProps) => {
  const { customer, window, currency, lines, totals } = of;
  const usageOf = (line: Line): string =>
    `/billing/customers/${customer.id}/${line.meter}${rangeQuery(line.window ?? window)}`;
  return lines.length === 0 ? (
    <Empty title="No usage in this window" />
  ) : (
    <Figures
      label={label}
      columns={[texts ? 'Item' : 'Meter', ...FIGURES.map((figure) => ({ figure }))]}
      note={<p className="billing-note small muted">Rates are in minor units of {currency}.</p>}
    >
      <tbody>
        {lines.map((line) => (
          <tr key={`${line.meter} ${line.window?.from ?? ''}`}>
            <th scope="row" className="billing-item">
              {texts ? line.item_name : METERS[line.meter]}{' '}
              {line.unrated === true ? <Badge tone="warn">No price</Badge> : null}
              {line.late === true ? <Badge tone="info">Late</Badge> : null}
              {texts && line.item_description !== '' ? (
                <span className="small muted">{line.item_description}</span>
              ) : null}
              {line.window === undefined ? null : (
                <span className="small muted">Of {windowText(line.window)}</span>
              )}
            </th>
            <td className="figure">
              <Count of={line.quantity} to={usageOf(line)} label={`the events of ${METERS[line.meter]}`} />
            </td>
            <td className="figure">
              <Count of={line.included} to={PRICES} label={`${METERS[line.meter]} that the card includes`} />
            </td>
            <td className="figure">
              <Count
                of={line.billable}
                to={usageOf(line)}
                label={`${METERS[line.meter]} beyond what is included`}
              />
            </td>
            <td className="figure">
              <Rate of={line.wholesale_rate} />
            </td>
            <MoneyCell minor={line.wholesale} currency={currency} to={usageOf(line)} />
            <td className="figure">
              <Rate of={line.retail_rate} />
            </td>
            <MoneyCell minor={line.retail} currency={currency} to={usageOf(line)} />
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr className="total">
          <th scope="row">Total</th>
          <td colSpan={4} />
          <MoneyCell minor={totals.wholesale} currency={currency} to={totalsTo} />
          <td />
          <MoneyCell minor={totals.retail} currency={currency} to={totalsTo} />
        </tr>
        <tr>
          <th scope="row">Margin</th>
          <td colSpan={6} className="figure">
            <Percent of={totals.margin_pct} to={totalsTo} />
          </td>
          <MoneyCell minor={totals.margin} currency={currency} to={totalsTo} />
        </tr>
      </tfoot>
    </Figures>
  );
};

const Rate = ({ of }: { of: string | null }) => (of === null ? <>–</> : <Link href={PRICES}>{of}</Link>);
