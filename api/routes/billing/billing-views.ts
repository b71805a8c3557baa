import { z } from 'zod';
import { metadataSchema } from '../../../application/core/events/event-codec.ts';
import { RATE, type RateCard } from '../../../domain/billing/rate-card.ts';
import { type Bucket, type Reconciliation, SCOPES } from '../../../domain/billing/reconciliation.ts';
import { METERS, type Meter, type StatementLine } from '../../../domain/billing/shapes.ts';
import type { Statement } from '../../../domain/billing/statement.ts';
import { iso } from '../../../domain/core/projection.ts';
import { type Columns, csvTable } from '../../http/csv.ts';
import { position, timestamp } from '../../http/schemas.ts';
import { currencyCode } from '../ledger/ledger-views.ts';
import { line, money, totals, window } from './invoice-views.ts';

/** Shapes of partner billing's requests and answers (decisions, section 10). */

const price = z
  .string()
  .regex(RATE, 'A price must be a decimal string of minor units, with at most 9 digits and 6 decimal places.')
  .meta({ description: 'Minor units, up to 6 decimals.' });

const rate = z.strictObject({
  wholesale: price,
  retail: price,
  included: z.int().min(0).optional().meta({
    description:
      'Quantity free of charge in each calendar month (UTC); the earliest usage consumes it first.',
  }),
});

// One member for each meter. A record schema would drop the key `__proto__` instead of refusing it.
const rates = z.strictObject(
  Object.fromEntries(METERS.map((meter) => [meter, rate.exactOptional()])) as Record<
    Meter,
    z.ZodExactOptional<typeof rate>
  >,
);

export const newRateCard = z.strictObject({
  currency: currencyCode.optional().meta({ description: 'Default: unchanged.' }),
  rates,
});

export const rateCardView = z
  .object({
    version: z.int().meta({ description: '0 before the first rate card is saved.' }),
    currency: z.string(),
    rates,
    updated_at: timestamp.nullable(),
  })
  .meta({ id: 'RateCard' });

export const viewOfCard = ({ version, currency, rates, updatedAt }: RateCard) => ({
  version,
  currency,
  rates,
  updated_at: updatedAt === null ? null : iso(updatedAt),
});

const openWindow = window.extend({
  open: z.boolean().meta({ description: 'Whether the window has not ended yet.' }),
});

export const statementView = z
  .object({
    customer: z.object({ id: z.string(), name: z.string() }),
    window: openWindow,
    currency: z.string(),
    rate_card_version: z.int(),
    lines: z.array(line),
    totals,
  })
  .meta({ id: 'Statement' });

const amounts = z.object({ wholesale: money, retail: money });
const sums = totals.extend({ invoiced: amounts, unbilled: amounts });

export const reconciliationView = z
  .object({
    window: openWindow,
    scope: z.enum(SCOPES),
    buckets: z.array(
      z
        .object({ scope: z.object({ kind: z.enum(SCOPES), id: z.string(), name: z.string() }) })
        .extend(sums.shape),
    ),
    totals: sums,
  })
  .meta({ id: 'Reconciliation' });

export const usageView = z
  .object({
    event_id: z.string(),
    position,
    type: z.string(),
    stream: z.string(),
    at: timestamp,
    actor: z.object({ kind: metadataSchema.shape.actor.shape.kind, id: z.string() }),
  })
  .meta({ id: 'UsageEvent' });

// CSV files; their amounts are in minor units.

interface LineOf {
  readonly statement: Statement;
  readonly line: StatementLine;
}

const statementColumns: Columns<LineOf> = {
  customer_id: ({ statement }) => statement.customer.id,
  customer_name: ({ statement }) => statement.customer.name,
  from: ({ statement }) => statement.window.from,
  to: ({ statement }) => statement.window.to,
  currency: ({ statement }) => statement.currency,
  rate_card_version: ({ statement }) => statement.rate_card_version,
  meter: ({ line }) => line.meter,
  quantity: ({ line }) => line.quantity,
  included: ({ line }) => line.included,
  billable: ({ line }) => line.billable,
  wholesale_rate: ({ line }) => line.wholesale_rate,
  retail_rate: ({ line }) => line.retail_rate,
  wholesale: ({ line }) => line.wholesale,
  retail: ({ line }) => line.retail,
  item_name: ({ line }) => line.item_name,
  item_description: ({ line }) => line.item_description,
  unrated: ({ line }) => line.unrated === true,
  late_from: ({ line }) => line.window?.from,
  late_to: ({ line }) => line.window?.to,
};

/** A row for each line. */
export const csvOfStatements = (statements: readonly Statement[]): string =>
  csvTable(
    statementColumns,
    statements.flatMap((statement) => statement.lines.map((each) => ({ statement, line: each }))),
  );

/** A row for each bucket, then a total. */
export const csvOfReconciliation = ({
  window: { from, to },
  scope,
  buckets,
  totals,
}: Reconciliation): string => {
  const columns: Columns<Bucket> = {
    from: () => from,
    to: () => to,
    scope: (bucket) => bucket.scope.kind,
    id: (bucket) => bucket.scope.id,
    name: (bucket) => bucket.scope.name,
    wholesale: (bucket) => bucket.wholesale,
    retail: (bucket) => bucket.retail,
    margin: (bucket) => bucket.margin,
    margin_pct: (bucket) => bucket.margin_pct,
    invoiced_wholesale: (bucket) => bucket.invoiced.wholesale,
    invoiced_retail: (bucket) => bucket.invoiced.retail,
    unbilled_wholesale: (bucket) => bucket.unbilled.wholesale,
    unbilled_retail: (bucket) => bucket.unbilled.retail,
  };
  return csvTable(columns, [...buckets, { scope: { kind: scope, id: '', name: 'Total' }, ...totals }]);
};
