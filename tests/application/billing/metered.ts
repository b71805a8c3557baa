import type { InvoiceBook } from '../../../application/billing/invoice-book.ts';
import { MeteredUsage } from '../../../application/billing/metered-usage.ts';
import { RateCards } from '../../../application/billing/rate-cards.ts';
import { Statements } from '../../../application/billing/statements.ts';
import { CHAIN_START } from '../../../application/core/events/event-codec.ts';
import { PartnerDirectory } from '../../../application/partners/partner-directory.ts';
import type { Position } from '../../../application/ports/event-store.ts';
import type { Rates } from '../../../domain/billing/rate-card.ts';
import type { FrozenInvoice, Meter, Window } from '../../../domain/billing/shapes.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { createPartner, partnerStream } from '../../../domain/partners/partner.ts';
import { createTenant, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { customerById, customersOf } from '../../../projections/billing/customers.ts';
import { activeOf, daysOf, meteringProjection } from '../../../projections/billing/metering.ts';
import { causeOf } from '../../support/book.ts';
import { memoryReadModel } from '../../support/memory-reader.ts';
import { startNode } from '../../support/node.ts';

/** Partner billing over a log in memory, with invoices kept by the test. */

export const PARTNER = 'north';
export const SOUTH = 'south';
export const ACME = 'acme';
export const BETA = 'beta';

/** A use at an instant by a person. */
export interface Use {
  readonly meter: keyof typeof EVENTS;
  readonly at: string;
  readonly user: string;
  readonly tenantId?: string;
  /** Set when a platform admin impersonates the person. */
  readonly impersonated?: boolean;
}

const running = { workflow: 'w', workflow_version: 1 };
const job = { record_id: 'r', entity_name: 'thing', ...running };
const record = { record_id: 'r', entity_name: 'thing', values: {}, types: {}, schema_revision: 0 };
const delivery = { delivery_id: 'd', subscription_id: 's', attempt: 1, response_code: 200 };

/** One event for each meter that tests use. The event of `active_users` counts for no other meter. */
const EVENTS = {
  active_users: { type: 'UserRoleChanged', data: { user_id: 'u', role: 'admin' } },
  jobs_started: { type: 'JobStarted', data: { ...job, state: 'a' } },
  job_transitions: {
    type: 'JobTransitioned',
    data: { ...job, from_state: 'a', to_state: 'b', event_name: 'go' },
  },
  records_created: { type: 'RecordCreated', data: { ...record, created_by: 'u' } },
  forms_submitted: {
    type: 'FormSubmitted',
    data: { form_id: 'f', submission_id: 's', entity_name: 'thing', entity_id: 'r', values: {} },
  },
  webhooks_delivered: { type: 'DeliverySucceeded', data: { ...delivery, event: 'form.submitted' } },
} as const satisfies Partial<Record<Meter, { type: string; data: unknown }>>;

// The keys are those above.
export const USED = Object.keys(EVENTS) as readonly (keyof typeof EVENTS)[];

export const startBilling = async () => {
  const node = startNode();
  const { commands, streams, codec, clock, directory, events } = node;
  const partners = new PartnerDirectory(streams);
  const model = memoryReadModel(meteringProjection);
  const invoices: FrozenInvoice[] = [];
  const invoicesOf: Readonly<Record<string, FrozenInvoice[]>> = { [PARTNER]: invoices, [SOUTH]: [] };
  const ofPartner = (partnerId: string): FrozenInvoice[] => invoicesOf[partnerId] ?? [];
  const book: InvoiceBook = {
    live: async (partnerId, customerId) =>
      ofPartner(partnerId).filter(({ customer }) => customer.id === customerId),
    allLive: async (partnerId) => ofPartner(partnerId),
  };
  for (const [id, name] of [
    [PARTNER, 'North'],
    [SOUTH, 'South'],
  ] as const) {
    await commands.execute({
      tenantId: PLATFORM,
      type: partnerStream,
      id,
      cause: causeOf(id),
      decide: (state) => createPartner(state, { partnerId: id, name, home_tenant_id: null }),
    });
  }
  for (const { id, name } of [ACME, BETA].map((id) => ({ id, name: `${id} & sons` }))) {
    await commands.execute({
      tenantId: PLATFORM,
      type: tenantStream,
      id,
      cause: causeOf(id),
      decide: (state) =>
        createTenant(state, {
          tenantId: id,
          name,
          plan: 'pro',
          partner_id: PARTNER,
          entitlements: { ledger: false, assistant: false },
          currency: 'EUR',
          timezone: 'UTC',
        }),
    });
  }

  let folded: Position | undefined;
  /** Folds new events of the log. */
  const fold = async (): Promise<void> => {
    for (const stored of await events.readAll({ from: folded, limit: 100_000 })) {
      folded = stored.position;
      if (meteringProjection.types.includes(stored.type)) model.fold(codec.decode(stored));
    }
  };

  let written = 0;
  const append = async (
    stream: string,
    tenantId: string,
    event: { readonly type: string; readonly data: unknown; readonly at: string },
    actor: { readonly user: string; readonly kind?: 'user' | 'system'; readonly impersonated?: boolean },
  ): Promise<void> => {
    written += 1;
    const { stored } = codec.encode(
      `${tenantId}.${stream}-${written}`,
      tenantId,
      CHAIN_START,
      { id: node.ids.next(), type: event.type, data: event.data, at: Date.parse(event.at) },
      {
        ...causeOf(String(written)),
        actor: { kind: actor.kind ?? 'user', id: actor.user },
        ...(actor.impersonated ? { impersonatedBy: 'root@platform.example' } : {}),
      },
    );
    await events.append(`${tenantId}.${stream}-${written}`, 'no_stream', [stored]);
  };
  const use = ({ meter, at, user, tenantId = ACME, impersonated = false }: Use): Promise<void> =>
    append('usage', tenantId, { ...EVENTS[meter], at }, { user, impersonated });

  /** Changes a tenant’s partner at an instant; `name` also renames it. */
  const handOver = (
    at: string,
    partnerId: string | null,
    { tenantId = ACME, name }: { readonly tenantId?: string; readonly name?: string } = {},
  ): Promise<void> => {
    const data = { tenant_id: tenantId, partner_id: partnerId, ...(name === undefined ? {} : { name }) };
    return append(`handover-${tenantId}`, PLATFORM, { type: 'TenantChanged', data, at }, { user: 'root' });
  };

  const rateCards = new RateCards({ streams, directory, partners, invoices: book });
  const statements = new Statements({
    streams,
    usage: new MeteredUsage({
      model: {
        tenures: async (partnerId, tenantId) =>
          (await customerById(model.reader, partnerId, tenantId))?.tenures ?? [],
        days: (tenantId, range) => daysOf(model.reader, tenantId, range),
        active: (tenantId, range) => activeOf(model.reader, tenantId, range),
      },
      events,
      codec,
    }),
    counted: fold,
    end: () => events.end(),
    customersOf: (partnerId, window) => customersOf(model.reader, partnerId, window),
    customerOf: (partnerId, id) => customerById(model.reader, partnerId, id),
    invoices: book,
    rateCards,

    partners,
    clock,
  });

  let requests = 0;
  const put = (rates: Rates, currency = 'EUR', partnerId = PARTNER) => {
    requests += 1;
    const context = { cause: causeOf(`card-${requests}`), priorAttempt: undefined, newId: () => 'x' };
    return rateCards.replace(partnerId, { currency, rates, ifVersion: undefined }, context);
  };

  let generated = 0;
  /** Freezes and keeps the draft of a window. */
  const generate = async (window: Window, customerId = ACME, partnerId = PARTNER): Promise<FrozenInvoice> => {
    generated += 1;
    const draft = await statements.draft(partnerId, customerId, window);
    const { customer, currency, lines, totals, rate_card_version } = draft;
    const invoice: FrozenInvoice = {
      id: `invoice-${generated}`,
      customer,
      window,
      revision: 1,
      currency,
      lines,
      totals,
      rate_card_version,
      generated_at: '2026-01-01T00:00:00.000Z',
    };
    ofPartner(partnerId).push(invoice);
    return invoice;
  };
  const discard = (invoice: FrozenInvoice): void => {
    for (const own of Object.values(invoicesOf)) {
      if (own.includes(invoice)) own.splice(own.indexOf(invoice), 1);
    }
  };

  return {
    ...node,
    statements,
    rateCards,
    use,
    append,
    handOver,
    put,
    generate,
    discard,
    invoices,
    invoicesOf: ofPartner,
    fold,
    model,
  };
};

export type Billing = Awaited<ReturnType<typeof startBilling>>;

/** A window between two days or instants. */
export const between = (from: string, to: string): Window => ({
  from: new Date(from).toISOString(),
  to: new Date(to).toISOString(),
});
