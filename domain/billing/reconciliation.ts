import { totalsOf } from './pricing.ts';
import { METERS, type StatementLine, type Totals, type Window } from './shapes.ts';
import type { StatementParts } from './statement.ts';

/** Reconciles statements (decisions, section 10): their sums by customer or by meter. */

export const SCOPES = ['customer', 'meter'] as const;
export type Scope = (typeof SCOPES)[number];

type Amounts = Pick<Totals, 'wholesale' | 'retail'>;

interface Sums extends Totals {
  readonly invoiced: Amounts;
  readonly unbilled: Amounts;
}

export interface Bucket extends Sums {
  readonly scope: { readonly kind: Scope; readonly id: string; readonly name: string };
}

export interface Reconciliation {
  readonly window: Window & { readonly open: boolean };
  readonly scope: Scope;
  readonly buckets: readonly Bucket[];
  readonly totals: Sums;
}

const amountsOf = (lines: readonly StatementLine[]): Amounts => {
  const { wholesale, retail } = totalsOf(lines);
  return { wholesale, retail };
};

const sumsOf = (invoiced: readonly StatementLine[], unbilled: readonly StatementLine[]): Sums => ({
  ...totalsOf([...invoiced, ...unbilled]),
  invoiced: amountsOf(invoiced),
  unbilled: amountsOf(unbilled),
});

/** @param statements all in the same currency */
export const reconcile = (
  statements: readonly StatementParts[],
  scope: Scope,
  window: Reconciliation['window'],
): Reconciliation => {
  const invoiced = statements.flatMap((each) => each.invoiced);
  const unbilled = statements.flatMap((each) => each.unbilled);
  const buckets =
    scope === 'customer'
      ? statements.map(({ statement: { customer }, ...lines }) => ({
          scope: { kind: scope, ...customer },
          ...sumsOf(lines.invoiced, lines.unbilled),
        }))
      : METERS.filter((meter) => [...invoiced, ...unbilled].some((line) => line.meter === meter)).map(
          (meter) => {
            const ofMeter = (lines: readonly StatementLine[]) => lines.filter((line) => line.meter === meter);
            return {
              scope: { kind: scope, id: meter, name: meter },
              ...sumsOf(ofMeter(invoiced), ofMeter(unbilled)),
            };
          },
        );
  return { window, scope, buckets, totals: sumsOf(invoiced, unbilled) };
};
