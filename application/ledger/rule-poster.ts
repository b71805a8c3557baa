import { InvoiceIssued } from '../../domain/billing/invoice.ts';
import { PLATFORM } from '../../domain/core/platform.ts';
import {
  POSTING_RULES,
  type PostingRule,
  postingRuleEvents,
  postingRulesStream,
} from '../../domain/ledger/posting-rule.ts';
import { tenantStream } from '../../domain/tenancy/tenant.ts';
import type { StreamStates } from '../core/commands/stream-states.ts';
import { type Quantum, runInGroups } from '../core/concurrency/background-scheduler.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { ownerOf, streamName } from '../core/events/stream-name.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import { PastStates } from '../core/subscriptions/past-states.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { StoredEvent } from '../ports/event-store.ts';
import { WEBHOOK_SOURCES, webhookDataOf } from '../webhooks/event-data.ts';
import { entryIdOf, type RuleApplication, type RuleRunner, type SourceEvent } from './rule-runner.ts';

/** Events that webhooks deliver, and issued invoices of partners (decisions, section 9). */
const SOURCE_TYPES: readonly string[] = [...WEBHOOK_SOURCES, InvoiceIssued.type];

const PARTNER = 'partner_';

/**
 * An event's name and data as webhooks deliver them, with the event's own tenant; for an issued invoice, the invoice's
 * name and data with the partner's home tenant. Undefined for an event to which no rule can apply.
 */
export const readSource = async (
  event: LoggedEvent,
  partners: PartnerDirectory,
): Promise<SourceEvent | undefined> => {
  const invoice = dataOf(InvoiceIssued, event);
  if (invoice === undefined) {
    const content = webhookDataOf(event);
    return content && { kind: content.event, tenantId: event.tenantId, payload: content.data };
  }
  if (!event.tenantId.startsWith(PARTNER)) return undefined;
  const partner = await partners.find(event.tenantId.slice(PARTNER.length));
  const tenantId = partner?.home_tenant_id;
  if (tenantId === undefined || tenantId === null) return undefined;
  const { invoice_id, number, customer, window, revision, currency, upstream_ref, issued_at } = invoice;
  const { wholesale, retail, margin } = invoice.totals;
  const totals = { wholesale, retail, margin };
  const payload = {
    invoice_id,
    number,
    customer,
    window,
    revision,
    currency,
    totals,
    upstream_ref,
    issued_at,
  };
  return { kind: 'partner_invoice.issued', tenantId, payload };
};

/**
 * Applies to each event the posting rules that were active just before it, if the tenant had the ledger then. Ids of
 * entries and failures derive from rule and event, so that a repeat has no effect (decisions, section 9).
 */
export const rulePoster = (deps: {
  readonly runner: RuleRunner;
  readonly partners: PartnerDirectory;
  readonly states: StreamStates;
}): Subscriber => {
  const { runner, partners, states } = deps;
  const rules = new PastStates(
    postingRulesStream,
    postingRuleEvents.map(({ type }) => type),
    deps,
  );

  const applicable = async (event: LoggedEvent, kind: string, tenantId: string): Promise<PostingRule[]> => {
    const stream = rulesStreamName(tenantId);
    // Events come in order only within a tenant, so for a partner's invoice the home tenant's rules are read again.
    const isOwn = event.tenantId === tenantId;
    const { byId } = await (isOwn
      ? rules.before(stream, event.position)
      : rules.readBefore(stream, event.position));
    const active = Object.values(byId).filter((rule) => rule.active && rule.source_kind === kind);
    if (active.length === 0) return [];
    const platformStream = streamName(PLATFORM, tenantStream.category, tenantId);
    const tenant = await states.before(platformStream, tenantStream, event.position);
    if (!tenant.exists || !tenant.entitlements.ledger) return [];
    return active.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  };

  const applicationsOf = async (event: LoggedEvent): Promise<readonly RuleApplication[]> => {
    // The event changes the rules, so no rule applies to it.
    if (rules.evolve(event)) return [];
    const source = await readSource(event, partners);
    if (source === undefined) return [];
    const found = await applicable(event, source.kind, source.tenantId);
    return found.map((rule) => ({ rule, event, source }));
  };

  /** True for a source event if the cached rules of its tenant are all inactive. */
  const skips = ({ type, stream }: StoredEvent): boolean => {
    // The rules of the partner's home tenant apply to an invoice; finding that tenant may need a read of the store.
    if (!WEBHOOK_SOURCES.some((source) => source === type)) return false;
    const known = rules.cached(rulesStreamName(ownerOf(stream)));
    return known !== undefined && Object.values(known.byId).every(({ active }) => !active);
  };

  /** Applies concurrently; postings reach the journal in log order. */
  const runAll = (applications: readonly RuleApplication[], quantum?: Quantum): Promise<void> => {
    let before = Promise.resolve();
    const works = applications.map((application) => () => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const reached = before;
      before = reached.then(() => released);
      const newId = () => entryIdOf(application);
      const context = { cause: causeOf(application.event), priorAttempt: undefined, newId };
      return runner.run(application, context, { reached, release }).finally(release);
    });
    return runInGroups(works, quantum);
  };

  return {
    name: 'rule-poster',
    types: [...SOURCE_TYPES, ...rules.types],
    begin: () => rules.reset(),
    skips,
    handle: async (event, quantum) => {
      await runAll(await applicationsOf(event), quantum);
    },
    handleAll: async (events, quantum) => {
      try {
        const all: RuleApplication[] = [];
        for (const event of events) all.push(...(await applicationsOf(event)));
        await runAll(all, quantum);
      } catch (error) {
        // The subscriber will handle the events again, but the cached states are already past them.
        rules.reset();
        throw error;
      }
    },
  };
};

/** The name of the stream of a tenant's rules. */
const rulesStreamName = (tenantId: string): string =>
  streamName(tenantId, postingRulesStream.category, POSTING_RULES);
