import { z } from 'zod';
import type { OutboundRequest } from '../../../application/ports/outbound-http.ts';
import { type Client, signed } from '../client.ts';
import type { Serve } from '../hosts.ts';
import { eventsOf, type Fact } from '../log.ts';
import { secretOf } from '../world.ts';
import {
  type Actor,
  type Area,
  type Choice,
  type Context,
  type Page,
  PerTenant,
  prepared,
  type Report,
  type Tenant,
  twiceIn,
  withId,
} from './area.ts';

export const BILLING_HOST = 'billing.example';
const BILLING = '/api/v1/partner-portal/billing';
const INVOICES = `${BILLING}/invoices`;
/** Contains all {@link WINDOWS}: a late line counts at the time at which its invoice begins. */
const ALL = '?from=2026-02-01&to=2026-05-01';
/** Windows of invoices: the default one, a month that is over, and parts of the month of the run. */
const WINDOWS = [
  {},
  { from: '2026-02-01', to: '2026-03-01' },
  { from: '2026-03-01', to: '2026-03-03' },
  { from: '2026-03-31', to: '2026-04-01' },
];

const amounts = z.object({ wholesale: z.number(), retail: z.number() });
const statements = z.array(
  z.looseObject({
    customer: z.object({ id: z.string() }),
    lines: z.array(z.looseObject({ meter: z.string(), quantity: z.number() })),
    totals: amounts,
  }),
);
const reconciliation = z.looseObject({ totals: amounts.extend({ invoiced: amounts, unbilled: amounts }) });
const invoice = z.looseObject({
  state: z.string(),
  upstream_ref: z.string().optional(),
  revision: z.number(),
});

const addsUp = (body: unknown): boolean => {
  const { wholesale, retail, invoiced, unbilled } = reconciliation.parse(body).totals;
  return (
    wholesale === invoiced.wholesale + unbilled.wholesale && retail === invoiced.retail + unbilled.retail
  );
};

/** A partner for each tenant. Its invoices go to a billing system that fails now and then. */
export class Billing implements Area {
  readonly name = 'billing';
  readonly #context: Context;
  readonly #partners = new Map<string, Client>();
  readonly #invoices = new PerTenant<string>();
  /** Documents in the billing system, by idempotency key. */
  readonly #documents = new Map<string, string>();
  readonly #faults: string[] = [];

  constructor(context: Context) {
    this.#context = context;
    context.hosts.serve(BILLING_HOST, (call) => this.#take(call));
  }

  #take({ method, url, headers, body }: OutboundRequest): ReturnType<Serve> {
    const key = method === 'GET' ? new URL(url).searchParams.get('key') : headers['idempotency-key'];
    const known = this.#documents.get(key ?? '');
    if (method === 'GET')
      return known === undefined ? { status: 404 } : { status: 200, body: { reference: key } };
    if (known !== undefined && known !== String(body))
      this.#faults.push(`${key} was sent with different bytes`);
    this.#documents.set(key ?? '', String(body));
    return { status: 201, body: { reference: key } };
  }

  #partnerOf({ id }: Tenant): Client {
    const found = this.#partners.get(id);
    if (found === undefined) throw new Error(`${id} has no partner`);
    return found;
  }

  async prepare({ id }: Tenant): Promise<void> {
    const { platform, clientWith, issuedAt } = this.#context;
    const partnerId = `p_${id}`;
    await prepared(platform, '/super/partners', { id: partnerId, name: partnerId });
    const joined = { what: 'prepare partner' };
    await platform.write('PATCH', `/super/tenants/${id}`, { partner_id: partnerId }, joined);
    const claims = { sub: 'nora', email: 'nora@partner.example', partner_id: partnerId };
    const permissions = ['partner-billing'];
    const times = { iat: issuedAt, exp: issuedAt + 3_600 };
    const client = clientWith(signed({ ...claims, permissions, ...times }, secretOf('partner')));
    this.#partners.set(id, client);
    const rates = {
      messages_sent: { wholesale: '50', retail: '80' },
      active_users: { wholesale: '7', retail: '9' },
    };
    const card = { currency: 'EUR', rates };
    const priced = await client.write('PUT', `${BILLING}/rate-card`, card, { what: 'prepare rates' });
    if (priced?.status !== 200) throw new Error(`rates: ${JSON.stringify(priced?.body)}`);
  }

  actions(tenant: Tenant, actor: Actor): readonly Choice[] {
    const { dice } = this.#context;
    const partner = this.#partnerOf(tenant);
    const made = this.#invoices.of(tenant);
    const isOne = actor === tenant.admin;
    return [
      [
        isOne ? 2 : 0,
        async () => {
          const body = { customer_id: tenant.id, ...dice.pick(WINDOWS) };
          const reply = await partner.write('POST', `${INVOICES}/generate`, body, { what: 'invoice' });
          if (reply?.status !== 201) return;
          const { id } = withId.parse(reply.body);
          if (!made.includes(id)) made.push(id);
        },
      ],
      [
        isOne && made.length > 0 ? 2 : 0,
        async () => {
          await partner.write('POST', `${INVOICES}/${dice.pick(made)}/issue`, undefined, { what: 'issue' });
        },
      ],
      [
        isOne && made.length > 0 ? 1 : 0,
        async () => {
          await partner.write('POST', `${INVOICES}/${dice.pick(made)}/void`, undefined, { what: 'void' });
        },
      ],
    ];
  }

  pages(tenant: Tenant): readonly Page[] {
    const client = this.#partnerOf(tenant);
    return [
      {
        client,
        path: `${BILLING}/reconciliation${ALL}`,
        wrong: (body) => (addsUp(body) ? undefined : `${JSON.stringify(body)} does not add up`),
      },
      { client, path: `${INVOICES}?limit=50`, wrong: (body) => twiceIn(z.array(withId).parse(body)) },
    ];
  }

  async check(log: readonly Fact[], report: Report): Promise<void> {
    this.#faults.forEach(report);
    for (const tenant of this.#context.tenants) {
      await this.#checkUsage(log, tenant, report);
      await this.#checkInvoices(log, tenant, report);
    }
  }

  /** The statement counts each sent message once, and the reconciliation adds up. */
  async #checkUsage(log: readonly Fact[], tenant: Tenant, report: Report): Promise<void> {
    const partner = this.#partnerOf(tenant);
    const sent = eventsOf(log, tenant, 'MessageSent').length;
    const [statement] = statements.parse((await partner.get(`${BILLING}/statements${ALL}`)).body);
    const counted = (statement?.lines ?? [])
      .filter(({ meter }) => meter === 'messages_sent')
      .reduce((sum, { quantity }) => sum + quantity, 0);
    if (counted !== sent) report(`${tenant.id} sent ${sent} messages, its statement has ${counted}`);
    const { body } = await partner.get(`${BILLING}/reconciliation${ALL}`);
    if (!addsUp(body)) report(`${tenant.id}: ${JSON.stringify(body)} does not add up`);
  }

  /** Each invoice shows its state in the log, none is still being issued, and only issued ones have a document. */
  async #checkInvoices(log: readonly Fact[], tenant: Tenant, report: Report): Promise<void> {
    const own = log.filter(({ stream }) => stream === `partner_p_${tenant.id}.invoices-${tenant.id}`);
    const of = (type: string): readonly string[] =>
      own.filter((event) => event.type === type).map(({ facts }) => String(facts.invoice_id));
    const [generated, issued] = [of('InvoiceGenerated'), of('InvoiceIssued')];
    if (new Set(issued).size !== issued.length) report(`an invoice of ${tenant.id} was issued twice`);
    for (const id of generated) {
      const { state, revision } = invoice.parse(
        (await this.#partnerOf(tenant).get(`${INVOICES}/${id}`)).body,
      );
      if (state === 'issuing') report(`invoice ${id} is still being issued`);
      if ((state === 'issued') !== issued.includes(id))
        report(`invoice ${id} shows ${state} against the log`);
      const documents = [...this.#documents.keys()].filter((key) => key.includes(id));
      const expected = state === 'issued' ? [`partner-invoice-${id}-${revision}`] : [];
      if (documents.join() !== expected.join())
        report(`invoice ${id} is ${state}, and the billing system has ${documents.join() || 'nothing'}`);
    }
  }
}
