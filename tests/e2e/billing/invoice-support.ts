import { join } from 'node:path';
import { z } from 'zod';
import { storedEvents } from '../../support/event-rows.ts';
import type { TestPartner } from '../../support/partners.ts';
import { PORTAL } from '../../support/partners.ts';
import type { Server } from '../../support/server.ts';
import { say, type TestTenant, talk, type World } from '../../support/world.ts';

/** Support of invoice tests: schemas of answers, customers with usage, prices and invoices. */

export const RATE_CARD = `${PORTAL}/billing/rate-card`;
export const INVOICES = `${PORTAL}/billing/invoices`;
export const GENERATE = `${INVOICES}/generate`;

const time = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
const window = z.strictObject({ from: time, to: time });

export const line = z.strictObject({
  meter: z.string(),
  quantity: z.int(),
  included: z.int(),
  billable: z.int(),
  wholesale_rate: z.string().nullable(),
  retail_rate: z.string().nullable(),
  wholesale: z.int(),
  retail: z.int(),
  item_name: z.string(),
  item_description: z.string(),
  unrated: z.literal(true).optional(),
  late: z.literal(true).optional(),
  window: window.optional(),
});

export const invoice = z.strictObject({
  id: z.uuid(),
  number: z.string(),
  customer: z.strictObject({ id: z.string(), name: z.string() }),
  window,
  state: z.enum(['generated', 'issuing', 'issued', 'void']),
  revision: z.int(),
  currency: z.string(),
  lines: z.array(line),
  totals: z.strictObject({
    wholesale: z.int(),
    retail: z.int(),
    margin: z.int(),
    margin_pct: z.number().nullable(),
  }),
  rate_card_version: z.int(),
  generated_at: time,
  issued_at: time.optional(),
  upstream_ref: z.string().optional(),
  last_error: z.string().optional(),
  voided_at: time.optional(),
});
export type Invoice = z.output<typeof invoice>;
export const invoices = z.array(invoice);

export const locked = z.object({
  error: z.literal('invoice_locked'),
  details: z.object({ state: z.string() }),
});

/** A tenant of the partner. */
export const newCustomer = async (world: World, partner: TestPartner): Promise<TestTenant> => {
  const tenant = await world.tenant();
  await world.platform.patch(`/super/tenants/${tenant.id}`, { partner_id: partner.id });
  return tenant;
};

/** Creates usage: messages of the admin. */
export const send = async (tenant: TestTenant, messages: number): Promise<void> => {
  const other = await tenant.person('Someone');
  const conversation = await talk(tenant.admin, other);
  for (let i = 0; i < messages; i += 1) await say(tenant.admin, conversation, `message ${i}`);
};

export const MESSAGES = { wholesale: '50', retail: '80' } as const;

export const priceMessages = async (partner: TestPartner, rate: object = MESSAGES): Promise<void> => {
  const answer = await partner.api.request('PUT', RATE_CARD, {
    currency: 'EUR',
    rates: { messages_sent: rate },
  });
  answer.as(z.object({}));
};

export const generate = async (partner: TestPartner, customer: TestTenant, more: object = {}) =>
  (await partner.api.post(GENERATE, { customer_id: customer.id, ...more })).as(invoice, 201);

export const read = async (partner: TestPartner, { id }: Pick<Invoice, 'id'>): Promise<Invoice> =>
  (await partner.api.get(`${INVOICES}/${id}`)).as(invoice);

/** Start of the calendar month (UTC) that is `ahead` months after the current one. */
export const monthAhead = (ahead: number): string => {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead)).toISOString();
};

const eventData = z.object({ invoice_id: z.string() });

/** Types of an invoice's events, from the log's file. */
export const eventsOf = ({ dataDir }: Server, invoiceId: string): readonly string[] =>
  storedEvents(join(dataDir, 'events.db'))
    .filter(({ type }) => type.startsWith('Invoice'))
    .filter(({ data }) => eventData.parse(JSON.parse(data)).invoice_id === invoiceId)
    .map(({ type }) => type);
