import { z } from 'zod';
import { newPartner, PORTAL, type TestPartner } from './partners.ts';
import type { TestTenant, World } from './world.ts';

/** Shapes of the API of partner billing, from the decisions; strict, to detect additional keys. */

export const RATE_CARD = `${PORTAL}/billing/rate-card`;
export const STATEMENTS = `${PORTAL}/billing/statements`;
export const RECONCILIATION = `${PORTAL}/billing/reconciliation`;

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const money = z.int();

const rate = z.strictObject({ wholesale: z.string(), retail: z.string(), included: z.int().optional() });
export const rateCard = z.strictObject({
  version: z.int().nonnegative(),
  currency: z.string().length(3),
  rates: z.record(z.string(), rate),
  updated_at: instant.nullable(),
});

const window = z.strictObject({ from: instant, to: instant });
const openWindow = window.extend({ open: z.boolean() });
const amounts = z.strictObject({ wholesale: money, retail: money });
const totals = amounts.extend({ margin: money, margin_pct: z.number().nullable() });

export const statementLine = z.strictObject({
  meter: z.string(),
  quantity: z.int().positive(),
  included: z.int().nonnegative(),
  billable: z.int().nonnegative(),
  wholesale_rate: z.string().nullable(),
  retail_rate: z.string().nullable(),
  wholesale: money,
  retail: money,
  item_name: z.string(),
  item_description: z.string(),
  unrated: z.literal(true).optional(),
  late: z.literal(true).optional(),
  window: window.optional(),
});
export type Line = z.output<typeof statementLine>;

export const statements = z.array(
  z.strictObject({
    customer: z.strictObject({ id: z.string(), name: z.string() }),
    window: openWindow,
    currency: z.string(),
    rate_card_version: z.int(),
    lines: z.array(statementLine),
    totals,
  }),
);

const sums = totals.extend({ invoiced: amounts, unbilled: amounts });
export const reconciliation = z.strictObject({
  window: openWindow,
  scope: z.enum(['customer', 'meter']),
  buckets: z.array(
    sums.extend({ scope: z.strictObject({ kind: z.string(), id: z.string(), name: z.string() }) }),
  ),
  totals: sums,
});

export const usage = z.array(
  z.strictObject({
    event_id: z.uuid(),
    position: z.string(),
    type: z.string(),
    stream: z.string(),
    at: instant,
    actor: z.strictObject({ kind: z.string(), id: z.string() }),
  }),
);
export type UsageEvent = z.output<typeof usage>[number];

/** A partner and its customers. */
export const partnerWith = async (
  world: World,
  customers: number,
): Promise<{ partner: TestPartner; tenants: TestTenant[] }> => {
  const partner = await newPartner(world);
  const tenants: TestTenant[] = [];
  for (let nth = 0; nth < customers; nth += 1) {
    const tenant = await world.tenant();
    await give(world, tenant.id, partner.id);
    tenants.push(tenant);
  }
  return { partner, tenants };
};

/** Assigns a tenant to a partner; null assigns it to none. */
export const give = async (world: World, tenantId: string, partnerId: string | null): Promise<void> => {
  const answer = await world.platform.patch(`/super/tenants/${tenantId}`, { partner_id: partnerId });
  if (answer.status !== 200) throw new Error(answer.text);
};

export const putCard = async (
  { api }: TestPartner,
  rates: Readonly<Record<string, { wholesale: string; retail: string; included?: number }>>,
  headers: Record<string, string> = {},
) => (await api.request('PUT', RATE_CARD, { currency: 'EUR', rates }, { headers })).as(rateCard);

export const statementsOf = async ({ api }: TestPartner, query = '') =>
  (await api.get(`${STATEMENTS}${query}`)).as(statements);

/** The lines of one customer's statement, by meter. */
export const linesOf = async (
  partner: TestPartner,
  customerId: string,
  query = '',
): Promise<Map<string, Line>> => {
  const found = (await statementsOf(partner, query)).find(({ customer }) => customer.id === customerId);
  return new Map(found?.lines.map((line) => [line.meter, line]));
};

/** All pages of the events behind a meter. */
export const usageOf = async (
  { api }: TestPartner,
  customerId: string,
  meter: string,
  more = '',
): Promise<UsageEvent[]> => {
  const found: UsageEvent[] = [];
  let next: string | undefined = `${STATEMENTS}/${customerId}/usage?meter=${meter}${more}`;
  while (next !== undefined) {
    const answer = await api.get(next);
    found.push(...answer.as(usage));
    next = /^<([^>]+)>/.exec(answer.header('link') ?? '')?.[1];
  }
  return found;
};
