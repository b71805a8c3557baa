import { z } from 'zod';
import { metadataSchema } from '../../../application/core/events/event-codec.ts';
import { RATE, type RateCard } from '../../../domain/billing/rate-card.ts';
import { type Reconciliation, SCOPES } from '../../../domain/billing/reconciliation.ts';
import { METERS, type Meter } from '../../../domain/billing/shapes.ts';
import type { Statement } from '../../../domain/billing/statement.ts';
import { iso } from '../../../domain/core/projection.ts';
import type { Cell } from '../../http/csv.ts';
import { position, timestamp } from '../../http/schemas.ts';
import { currencyCode } from '../ledger/ledger-views.ts';
import { line } from './invoice-views.ts';

/** Shapes of partner billing's requests and answers (decisions, section 10). */

const money = z.int().meta({ description: 'Minor units.' });

const price = z
  .string()
  .regex(RATE, 'A price is minor units as decimal text: at most 9 digits and 6 places.')
  .meta({ description: 'Minor units, up to 6 decimals.' });

const rate = z.strictObject({
  wholesale: price,
  retail: price,
  included: z
    .int()
    .min(0)
    .optional()
    .meta({ description: 'Free of charge in each calendar month (UTC), used in the order of time.' }),
});

// One member for each meter. `__proto__` is refused as an unknown key, which a record schema would drop.
const rates = z.strictObject(
  Object.fromEntries(METERS.map((meter) => [meter, rate.exactOptional()])) as Record<
    Meter,
    z.ZodExactOptional<typeof rate>
  >,
);

export const newRateCard = z.strictObject({
  currency: currencyCode.optional().meta({ description: 'Default: as before.' }),
  rates,
});

export const rateCardView = z
  .object({
    version: z.int().meta({ description: '0 until a card was put.' }),
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

const window = z.object({
  from: timestamp,
  to: timestamp,
  open: z.boolean().meta({ description: 'It has not ended.' }),
});

const margins = { margin: money, margin_pct: z.number().nullable() };
const amounts = z.object({ wholesale: money, retail: money });

export const statementView = z
  .object({
    customer: z.object({ id: z.string(), name: z.string() }),
    window,
    currency: z.string(),
    rate_card_version: z.int(),
    lines: z.array(line),
    totals: amounts.extend(margins),
  })
  .meta({ id: 'Statement' });

const sums = amounts.extend({ ...margins, invoiced: amounts, unbilled: amounts });

export const reconciliationView = z
  .object({
    window,
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

// CSV

type Rows = readonly (readonly Cell[])[];

/** A row for each line; amounts in minor units. */
export const statementRows = (statements: readonly Statement[]): Rows => [
  [
    'customer_id',
    'customer_name',
    'from',
    'to',
    'currency',
    'rate_card_version',
    'meter',
    'quantity',
    'included',
    'billable',
    'wholesale_rate',
    'retail_rate',
    'wholesale',
    'retail',
    'item_name',
    'item_description',
    'unrated',
    'late_from',
    'late_to',
  ],
  ...statements.flatMap(({ customer, window: { from, to }, currency, rate_card_version, lines }) =>
    lines.map((each) => [
      customer.id,
      customer.name,
      from,
      to,
      currency,
      rate_card_version,
      each.meter,
      each.quantity,
      each.included,
      each.billable,
      each.wholesale_rate,
      each.retail_rate,
      each.wholesale,
      each.retail,
      each.item_name,
      each.item_description,
      each.unrated === true,
      each.window?.from,
      each.window?.to,
    ]),
  ),
];

/** A row for each bucket, then a total. */
export const reconciliationRows = ({
  window: { from, to },
  scope,
  buckets,
  totals,
}: Reconciliation): Rows => {
  const all = { scope: { kind: scope, id: '', name: 'Total' }, ...totals };
  return [
    [
      'from',
      'to',
      'scope',
      'id',
      'name',
      'wholesale',
      'retail',
      'margin',
      'margin_pct',
      'invoiced_wholesale',
      'invoiced_retail',
      'unbilled_wholesale',
      'unbilled_retail',
    ],
    ...[...buckets, all].map((bucket) => [
      from,
      to,
      bucket.scope.kind,
      bucket.scope.id,
      bucket.scope.name,
      bucket.wholesale,
      bucket.retail,
      bucket.margin,
      bucket.margin_pct,
      bucket.invoiced.wholesale,
      bucket.invoiced.retail,
      bucket.unbilled.wholesale,
      bucket.unbilled.retail,
    ]),
  ];
};
