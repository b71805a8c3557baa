import { InvoiceLog } from '../../../application/billing/invoice-log.ts';
import { Invoices } from '../../../application/billing/invoices.ts';
import { runIssueWorker } from '../../../application/billing/issue-worker.ts';
import { InvoiceIssuing } from '../../../application/billing/issuing.ts';
import type { Draft } from '../../../application/billing/statements.ts';
import type { CommandHandler } from '../../../application/core/commands/command-handler.ts';
import type { RequestContext } from '../../../application/core/commands/request-context.ts';
import { PartnerDirectory } from '../../../application/partners/partner-directory.ts';
import type { BillingUpstream, FindAnswer, SendAnswer } from '../../../application/ports/billing-upstream.ts';
import type { Position } from '../../../application/ports/event-store.ts';
import { invoicesStream } from '../../../domain/billing/invoice.ts';
import type { Window } from '../../../domain/billing/shapes.ts';
import { partnerStream } from '../../../domain/partners/partner.ts';
import { type TenantEvent, tenantStream } from '../../../domain/tenancy/tenant.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { memoryStores, type SharedStores, startNode, type TestNode } from '../../support/node.ts';
import { sleepyClock } from '../webhooks/support.ts';

export const SCOPE = 'partner_north';
export const JAN: Window = { from: '2026-01-01T00:00:00.000Z', to: '2026-02-01T00:00:00.000Z' };
export const FEB: Window = { from: '2026-02-01T00:00:00.000Z', to: '2026-03-01T00:00:00.000Z' };

export const cause = (causationId: string) => ({
  actor: { kind: 'partner' as const, id: 'nora' },
  correlationId: 'request',
  causationId,
});

const tenant = (id: string, partnerId: string | null): TenantEvent => ({
  type: 'TenantCreated',
  data: {
    tenant_id: id,
    name: `Tenant ${id}`,
    plan: 'pro',
    partner_id: partnerId,
    entitlements: { ledger: false, assistant: false },
    currency: 'EUR',
    timezone: 'UTC',
  },
});

const createOn = async (commands: CommandHandler): Promise<void> => {
  for (const id of ['north', 'south']) {
    await commands.execute({
      tenantId: 'platform',
      type: partnerStream,
      id,
      cause: cause('setup'),
      decide: () => [
        {
          type: 'PartnerCreated' as const,
          data: { partner_id: id, name: `Partner ${id}`, home_tenant_id: null },
        },
      ],
    });
  }
  for (const [id, partnerId] of [
    ['acme', 'north'],
    ['brook', 'north'],
    ['cove', 'south'],
    ['dale', null],
  ] as const) {
    await commands.execute({
      tenantId: 'platform',
      type: tenantStream,
      id,
      cause: cause('setup'),
      decide: () => [tenant(id, partnerId)],
    });
  }
};

export type SendFault = 'accept' | 'accept unheard' | 'unheard' | 'refuse' | 'accept and refuse';
export type FindFault = 'answer' | 'unheard';

/** A billing system in memory that records calls and injects faults. */
export const memoryUpstream = (): {
  readonly documents: Map<string, string>;
  readonly calls: string[];
  sends: SendFault[];
  finds: FindFault[];
  /** Awaited before each answer. */
  pause: (call: string) => Promise<void>;
} & BillingUpstream => {
  const documents = new Map<string, string>();
  const calls: string[] = [];
  const keep = (key: string, document: string): void => {
    const present = documents.get(key);
    if (present !== undefined && present !== document) throw new Error(`two documents for ${key}`);
    documents.set(key, document);
  };
  const unknown = { kind: 'unknown', message: 'There was no answer.' } as const;
  const upstream = {
    documents,
    calls,
    sends: [] as SendFault[],
    finds: [] as FindFault[],
    pause: async (_call: string): Promise<void> => undefined,
    send: async (key: string, document: string, signal: AbortSignal): Promise<SendAnswer> => {
      calls.push(`send ${key}`);
      const fault = upstream.sends.shift() ?? 'accept';
      if (fault.startsWith('accept')) keep(key, document);
      await upstream.pause('send');
      signal.throwIfAborted();
      if (fault === 'accept') return { kind: 'accepted', reference: `ref-${key}` };
      return fault.endsWith('refuse') ? { kind: 'refused', message: 'HTTP 422: no' } : unknown;
    },
    find: async (key: string, signal: AbortSignal): Promise<FindAnswer> => {
      calls.push(`find ${key}`);
      await upstream.pause('find');
      signal.throwIfAborted();
      if ((upstream.finds.shift() ?? 'answer') === 'unheard') return unknown;
      return documents.has(key) ? { kind: 'found', reference: `ref-${key}` } : { kind: 'absent' };
    },
  };
  return upstream;
};

/** The content of a statement; a test replaces parts of it. */
export const draftOf = (own: Partial<Draft> = {}): Draft => ({
  customer: { id: 'acme', name: 'Tenant acme' },
  currency: 'EUR',
  rate_card_version: 1,
  lines: [
    {
      meter: 'jobs_started',
      quantity: 10,
      included: 0,
      billable: 10,
      wholesale_rate: '50',
      retail_rate: '80',
      wholesale: 500,
      retail: 800,
      item_name: 'Jobs',
      item_description: '',
    },
  ],
  totals: { wholesale: 500, retail: 800, margin: 300, margin_pct: 37.5 },
  through: undefined,
  ...own,
});

/** Starts a node with partners `north` (customers `acme`, `brook`) and `south` (`cove`); tenant `dale` has none. */
export const invoicing = async (options: Partial<SharedStores> = {}) => {
  const clock = sleepyClock();
  const stores = { ...memoryStores(), ...options };
  const leases = await openSqliteReadStore({ path: ':memory:' });
  const upstream = memoryUpstream();
  const statements: { draft: (...args: readonly unknown[]) => Promise<Draft> } = {
    draft: async () => draftOf(),
  };
  const wrote: Position[] = [];
  let ordinal = 0;

  /** Starts a node over the same stores. A test replaces some of them, for example to inject faults. */
  const nodeOf = (own: Partial<SharedStores> = {}, owner = `node ${ordinal++}`) => {
    const node: TestNode = startNode({ ...stores, ...own, clock });
    const log = new InvoiceLog(node);
    const issuing = new InvoiceIssuing({ ...node, log, upstream, leases, owner, leaseMs: 60_000 });
    const invoices = new Invoices({
      ...node,
      log,
      partners: new PartnerDirectory(node.streams),
      statements: { draft: (...args) => statements.draft(...args) },
      issuing,
      wrote: (position) => wrote.push(position),
      customerOf: async (partnerId, id) => {
        for (const customer of ['acme', 'brook']) {
          if ((await log.invoice(`partner_${partnerId}`, customer, id)) !== undefined) return customer;
        }
        return undefined;
      },
    });
    const pending = async function* () {
      for (const customerId of ['acme', 'brook']) {
        const { live } = (await invoicesOf(node, customerId)).state;
        for (const { id, state, since = 0 } of live) {
          if (state === 'issuing') yield { scope: SCOPE, customerId, invoiceId: id, since };
        }
      }
    };
    const run = () => {
      const stopping = new AbortController();
      const lease = { store: leases, logger: node.logger, owner, ttlMs: 60_000 };
      const deps = { issuing, pending, clock, logger: node.logger, sleep: clock.sleep };
      const done = runIssueWorker(deps, lease, stopping.signal);
      return {
        end: async () => {
          stopping.abort();
          await done;
        },
      };
    };
    return { ...node, log, issuing, invoices, pending, run };
  };

  const node = nodeOf();
  await createOn(node.commands);
  let requests = 0;
  const context = (key?: string): RequestContext => {
    requests += 1;
    return {
      cause: cause(key ?? `request ${requests}`),
      priorAttempt: key === undefined ? undefined : { since: 0 },
      newId: () => node.ids.next(),
    };
  };
  return { clock, stores, leases, upstream, statements, wrote, node, nodeOf, context };
};

export type Invoicing = Awaited<ReturnType<typeof invoicing>>;

/** A customer’s invoices as stored now. */
export const invoicesOf = ({ streams }: Pick<TestNode, 'streams'>, customerId = 'acme') =>
  streams.of(invoicesStream, SCOPE, customerId).refresh();

export const statesOf = async (on: Pick<TestNode, 'streams'>) =>
  (await invoicesOf(on)).state.live.map(({ state }) => state);

/** Types of the events of a customer’s invoices. */
export const typesOf = async ({ events }: Pick<TestNode, 'events'>, customerId = 'acme') =>
  (await events.readStream(`${SCOPE}.${invoicesStream.category}-${customerId}`)).map(({ type }) => type);
