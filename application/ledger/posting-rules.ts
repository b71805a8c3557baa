import type { Content } from '../../domain/ledger/content.ts';
import { resolveLines } from '../../domain/ledger/journal.ts';
import { checkPosting } from '../../domain/ledger/posting.ts';
import {
  type FailureState,
  failRetry,
  failureOf,
  type PostingFailure,
  type PostingFailureEvent,
  postingFailureStream,
  resolveFailure,
} from '../../domain/ledger/posting-failure.ts';
import {
  changeRule,
  createRule,
  evolveRule,
  POSTING_RULES,
  type PostingRule,
  type PostingRuleEvent,
  type PostingRuleSet,
  postingRulesStream,
  type RuleChange,
  type RuleContent,
  requireFixedAmounts,
  requireRule,
  ruleOf,
} from '../../domain/ledger/posting-rule.ts';
import { applyRule } from '../../domain/ledger/rule-entry.ts';
import type { Outcome, Written } from '../core/commands/command.ts';
import type { RequestContext } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { EventCodec } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import type { PartnerDirectory } from '../partners/partner-directory.ts';
import type { Clock } from '../ports/clock.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { Entries } from './entries.ts';
import type { LedgerJournal } from './journal.ts';
import { readSource } from './rule-poster.ts';
import { entryIdOf, type RuleRunner } from './rule-runner.ts';

export type WrittenRule = Written<{ readonly rule: PostingRule }>;
export type FailureOutcome = Written<{ readonly failure: PostingFailure }>;

/** The entry that a rule would make of a payload; the entry is not stored. */
export interface Preview {
  readonly matches: boolean;
  readonly entry?: { readonly content: Content; readonly rule: PostingRule } | undefined;
}

/** Use cases on posting rules and their failures (decisions, section 9, Posting rule). */
export class PostingRules extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly clock: Clock;
  readonly journal: LedgerJournal;
  readonly entries: Entries;
  readonly partners: PartnerDirectory;
  readonly runner: RuleRunner;
}> {
  /** @throws `validation_failed`, `unknown_account`, `account_inactive`; `constraint_violated` */
  async create(tenantId: string, given: RuleContent, context: RequestContext): Promise<WrittenRule> {
    const id = context.newId();
    requireRule(given);
    const earlier = await this.#earlier(tenantId, context, id);
    if (earlier !== undefined) return earlier;
    await this.#requireLines(tenantId, given);
    return ruleIn(await this.#rules(tenantId).execute(context, (state) => createRule(state, id, given)), id);
  }

  /** Equal values have no effect. @throws `not_found`, and the errors of {@link create} */
  async change(
    tenantId: string,
    id: string,
    change: RuleChange,
    context: RequestContext,
  ): Promise<WrittenRule> {
    const now = await this.#rule(tenantId, id);
    const earlier = await this.#earlier(tenantId, context, id);
    if (earlier !== undefined) return earlier;
    // A rule whose account is inactive can still be renamed or deactivated.
    const isActivated = change.active === true && !now.active;
    if (change.lines !== undefined || isActivated) {
      await this.#requireLines(tenantId, { lines: change.lines ?? now.lines });
    }
    return ruleIn(await this.#rules(tenantId).execute(context, (state) => changeRule(state, id, change)), id);
  }

  /**
   * Applies the rule, even if inactive, to the payload at the present time; stores nothing.
   * @throws `not_found`; the errors with which the rule would fail
   */
  async preview(tenantId: string, id: string, payload: unknown): Promise<Preview> {
    const rule = await this.#rule(tenantId, id);
    const { directory, clock, entries, journal } = this.deps;
    const tenant = await directory.tenant(tenantId);
    const { timezone = 'UTC', currency = '' } = tenant ?? {};
    const { matches, entry } = applyRule(rule, { payload, at: clock.now(), timezone, currency });
    if (entry === undefined) return { matches };
    const content = await entries.checkedContent(tenantId, entry);
    if (rule.mode === 'post') await journal.check(tenantId, (state) => checkPosting(state, { content }));
    return { matches: true, entry: { content, rule } };
  }

  /**
   * Applies the rule as it is now, even if inactive, to the event at which it failed; repeats make only one entry. A
   * rule that no longer matches resolves the failure without an entry.
   * @throws `not_found`
   */
  async retry(tenantId: string, id: string, context: RequestContext): Promise<FailureOutcome> {
    const known = await this.#failure(tenantId, id).outcomeOf(context);
    const failure = failureOf(known.state);
    // The failure is resolved, or an earlier try of the same request recorded its outcome.
    if (failure.resolvedAt !== undefined || known.events.length > 0) {
      return { failure, position: known.position };
    }
    const refusal = await this.#applied(tenantId, failure, context);
    const decide = (state: FailureState): readonly PostingFailureEvent[] =>
      refusal === undefined
        ? resolveFailure(state, entryIdOf({ rule: { id: failure.ruleId }, event: { id: failure.eventId } }))
        : failRetry(state, refusal);
    const { state, position } = await this.#failure(tenantId, id).execute(context, decide);
    return { failure: failureOf(state), position };
  }

  async #applied(tenantId: string, failure: PostingFailure, context: RequestContext) {
    const { events, codec, partners, runner } = this.deps;
    const { stream, revision } = failure.source;
    const [stored] = await events.readStream(stream, { from: revision, limit: 1 });
    if (stored === undefined) throw new Error(`${stream} has no revision ${revision}`);
    const event = codec.decode(stored);
    const source = await readSource(event, partners);
    const rule = ruleOf((await this.#rules(tenantId).refresh()).state, failure.ruleId);
    if (source === undefined || source.kind !== rule.source_kind) return undefined;
    // The failure stays with this tenant, even if the partner has another home tenant now.
    const application = { rule, event, source: { ...source, tenantId } };
    return runner.apply(application, { ...context, priorAttempt: undefined }, { redraft: true });
  }

  async #requireLines(tenantId: string, { lines }: Pick<RuleContent, 'lines'>): Promise<void> {
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant !== undefined) requireFixedAmounts(lines, tenant.currency);
    await this.deps.journal.check(tenantId, ({ chart }) => resolveLines(chart, lines));
  }

  /** Reads the store before it fails. @throws `not_found` */
  async #rule(tenantId: string, id: string): Promise<PostingRule> {
    return ruleOf(await this.#rules(tenantId).loadWhere(({ byId }) => Object.hasOwn(byId, id)), id);
  }

  /** The outcome of an earlier try of the same keyed request, without later changes. */
  async #earlier(tenantId: string, context: RequestContext, id: string): Promise<WrittenRule | undefined> {
    if (context.priorAttempt === undefined) return undefined;
    const outcome = await this.#rules(tenantId).outcomeOf(context);
    return outcome.events.length === 0 ? undefined : ruleIn(outcome, id);
  }

  #rules(tenantId: string) {
    return this.deps.streams.of(postingRulesStream, tenantId, POSTING_RULES);
  }

  #failure(tenantId: string, id: string) {
    return this.deps.streams.of(postingFailureStream, tenantId, id);
  }
}

/** The rule after this request, without later changes. */
const ruleIn = (
  { events, state, position }: Outcome<PostingRuleSet, PostingRuleEvent>,
  id: string,
): WrittenRule => {
  const now = ruleOf(state, id);
  const event = events.find(({ data }) => data.rule_id === id);
  return { rule: event === undefined ? now : evolveRule(now, event, event), position };
};
