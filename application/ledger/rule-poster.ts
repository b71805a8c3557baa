import {
  POSTING_RULES,
  type PostingRule,
  postingRuleEvents,
  postingRulesDecider,
} from '../../domain/ledger/posting-rule.ts';
import { TenantChanged, TenantCreated, tenantDecider } from '../../domain/tenancy/tenant.ts';
import type { EventCodec, LoggedEvent } from '../codec.ts';
import type { EventStore, StoredEvent } from '../ports/event-store.ts';
import type { PostingSources } from '../posting-sources.ts';
import type { Turn } from '../postings.ts';
import { type Application, entryIdOf, type RuleRunner } from '../rule-runner.ts';
import { StateHistory } from '../state-history.ts';
import type { StreamStates } from '../stream-states.ts';
import { PLATFORM, streamName } from '../streams.ts';
import type { Subscriber } from '../subscriber.ts';
import { causeOf } from './cause.ts';

/** Of one tenant. */
const AT_ONCE = 256;

/**
 * Applies the posting rules (decisions, section 9): to each event those rules that were active just before it in the
 * log, in a tenant that had the ledger then. Whatever was done already is found by its derived id, so an event may come
 * twice. What a rule fails at is written down, and holds nothing up.
 */
export const rulePoster = (deps: {
  readonly runner: RuleRunner;
  readonly sources: PostingSources;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly states: StreamStates;
}): Subscriber => {
  const { runner, sources } = deps;
  const rules = new StateHistory(
    postingRulesDecider,
    postingRuleEvents.map(({ type }) => type),
    deps,
  );
  const tenants = new StateHistory(tenantDecider, [TenantCreated.type, TenantChanged.type], deps);

  const applicable = async (event: LoggedEvent, kind: string, tenantId: string): Promise<PostingRule[]> => {
    const stream = streamName(tenantId, postingRulesDecider.category, POSTING_RULES);
    const { byId } = await rules.at(stream, event.position);
    const active = Object.values(byId).filter((rule) => rule.active && rule.source_kind === kind);
    if (active.length === 0) return [];
    const tenant = await tenants.at(streamName(PLATFORM, tenantDecider.category, tenantId), event.position);
    if (!tenant.exists || !tenant.entitlements.ledger) return [];
    return active.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
  };

  const applicationsOf = async (event: LoggedEvent): Promise<readonly Application[]> => {
    if (rules.takes(event) || tenants.takes(event)) return [];
    const source = await sources.read(event);
    if (source === undefined) return [];
    const found = await applicable(event, source.kind, source.tenantId);
    return found.map((rule) => ({ rule, event, source }));
  };

  /** In the books of whom no rule is active, nothing is posted. */
  const passesOver = (event: StoredEvent): boolean => {
    const tenantId = sources.tenantOf(event);
    if (tenantId === undefined) return false;
    const known = rules.known(streamName(tenantId, postingRulesDecider.category, POSTING_RULES));
    return known !== undefined && Object.values(known.byId).every(({ active }) => !active);
  };

  const run = (application: Application, turn?: Turn): Promise<void> =>
    runner.run(application, contextOf(application), turn);

  /** Side by side, and into the books in the order of the log. */
  const runAll = async (applications: readonly Application[]): Promise<void> => {
    for (let from = 0; from < applications.length; from += AT_ONCE) {
      let before = Promise.resolve();
      const running = applications.slice(from, from + AT_ONCE).map((application) => {
        const { promise, resolve: done } = Promise.withResolvers<void>();
        const comes = before;
        before = comes.then(() => promise);
        return run(application, { comes, done }).finally(done);
      });
      await settled(running);
    }
  };

  const forget = (): void => {
    rules.reset();
    tenants.reset();
  };

  return {
    name: 'rule-poster',
    types: [...sources.types, ...rules.types, ...tenants.types],
    begin: forget,
    passesOver,
    handle: async (event) => {
      for (const application of await applicationsOf(event)) await run(application);
    },
    handleAll: async (events) => {
      try {
        const all: Application[] = [];
        for (const event of events) all.push(...(await applicationsOf(event)));
        const byTenant = Map.groupBy(all, ({ source }) => source.tenantId);
        await settled([...byTenant.values()].map(runAll));
      } catch (error) {
        // The events come again, and what held before them is not what is remembered now.
        forget();
        throw error;
      }
    },
  };
};

/** On behalf of whoever caused the event; all ids are derived. */
const contextOf = (application: Application) => ({
  cause: causeOf(application.event),
  again: undefined,
  newId: () => entryIdOf(application),
});

/** Nothing is left running behind an error. */
const settled = async (all: readonly Promise<void>[]): Promise<void> => {
  for (const each of await Promise.allSettled(all)) if (each.status === 'rejected') throw each.reason;
};
