import { PLATFORM } from '../../domain/core/platform.ts';
import {
  POSTING_RULES,
  type PostingRule,
  postingRuleEvents,
  postingRulesStream,
} from '../../domain/ledger/posting-rule.ts';
import { tenantStream } from '../../domain/tenancy/tenant.ts';
import type { StreamStates } from '../core/commands/stream-states.ts';
import { inTurns, type Turn } from '../core/concurrency/tenant-turns.ts';
import type { EventCodec, LoggedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';
import { StateHistory } from '../core/subscriptions/past-states.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { EventStore, StoredEvent } from '../ports/event-store.ts';
import { readSource, ruleTenantOf, SOURCE_TYPES } from './posting-sources.ts';
import { entryIdOf, type RuleApplication, type RuleRunner } from './rule-runner.ts';

/**
 * Applies to each event the posting rules that were active just before it, if the tenant had the ledger then. Ids of
 * entries and failures derive from rule and event, so that a repeat has no effect (decisions, section 9).
 */
export const rulePoster = (deps: {
  readonly runner: RuleRunner;
  readonly partners: PartnerDirectory;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly states: StreamStates;
}): Subscriber => {
  const { runner, partners } = deps;
  const rules = new StateHistory(
    postingRulesStream,
    postingRuleEvents.map(({ type }) => type),
    deps,
  );
  const tenants = new StateHistory(tenantStream, [], deps);

  const applicable = async (event: LoggedEvent, kind: string, tenantId: string): Promise<PostingRule[]> => {
    const stream = streamName(tenantId, postingRulesStream.category, POSTING_RULES);
    // A partner's invoice is not read in one order with the rules of its home tenant.
    const isOwn = event.tenantId === tenantId;
    const { byId } = await (isOwn
      ? rules.before(stream, event.position)
      : rules.readBefore(stream, event.position));
    const active = Object.values(byId).filter((rule) => rule.active && rule.source_kind === kind);
    if (active.length === 0) return [];
    const tenant = await tenants.readBefore(
      streamName(PLATFORM, tenantStream.category, tenantId),
      event.position,
    );
    if (!tenant.exists || !tenant.entitlements.ledger) return [];
    return active.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  };

  const applicationsOf = async (event: LoggedEvent): Promise<readonly RuleApplication[]> => {
    if (rules.apply(event)) return [];
    const source = await readSource(event, partners);
    if (source === undefined) return [];
    const found = await applicable(event, source.kind, source.tenantId);
    return found.map((rule) => ({ rule, event, source }));
  };

  /** True for events of a tenant without an active rule. */
  const skips = (event: StoredEvent): boolean => {
    const tenantId = ruleTenantOf(event);
    if (tenantId === undefined) return false;
    const known = rules.cached(streamName(tenantId, postingRulesStream.category, POSTING_RULES));
    return known !== undefined && Object.values(known.byId).every(({ active }) => !active);
  };

  /** Applies concurrently; postings reach the journal in log order. */
  const runAll = (applications: readonly RuleApplication[], turn?: Turn): Promise<void> => {
    let before = Promise.resolve();
    const works = applications.map((application) => () => {
      const { promise: released, resolve: release } = Promise.withResolvers<void>();
      const reached = before;
      before = reached.then(() => released);
      return runner.run(application, contextOf(application), { reached, release }).finally(release);
    });
    return inTurns(works, turn);
  };

  return {
    name: 'rule-poster',
    types: [...SOURCE_TYPES, ...rules.types],
    begin: () => rules.reset(),
    skips,
    handle: async (event, turn) => {
      await runAll(await applicationsOf(event), turn);
    },
    handleAll: async (events, turn) => {
      try {
        const all: RuleApplication[] = [];
        for (const event of events) all.push(...(await applicationsOf(event)));
        await runAll(all, turn);
      } catch (error) {
        // The events will come again, but the cached states are already past them.
        rules.reset();
        throw error;
      }
    },
  };
};

/** The application acts for the actor of its event, with derived ids. */
const contextOf = (application: RuleApplication) => ({
  cause: causeOf(application.event),
  priorAttempt: undefined,
  newId: () => entryIdOf(application),
});
