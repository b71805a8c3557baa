import { DomainError } from '../../domain/core/errors.ts';
import { entryStream, isPosted, isVacant } from '../../domain/ledger/entry.ts';
import {
  type PostingFailure,
  postingFailureStream,
  reasonOf,
  recordFailure,
  resolveFailure,
} from '../../domain/ledger/posting-failure.ts';
import type { PostingRule } from '../../domain/ledger/posting-rule.ts';
import { applyRule } from '../../domain/ledger/rule-entry.ts';
import type { SourceKind } from '../../domain/ledger/rule-sources.ts';
import { type RequestContext, uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { isUnavailable } from '../core/concurrency/retry-policy.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import { type EventStore, EventTooLarge } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Entries } from './entries.ts';
import type { PostingProcess, Slot } from './posting-process.ts';

export interface SourceEvent {
  readonly kind: SourceKind;
  /** The tenant whose rules apply and whose journal they post to. */
  readonly tenantId: string;
  readonly payload: Readonly<Record<string, unknown>>;
}

/** A rule and the event to which it is applied. */
export interface RuleApplication {
  readonly rule: PostingRule;
  readonly event: LoggedEvent;
  readonly source: SourceEvent;
}

type RuleAndEvent = { readonly rule: Pick<PostingRule, 'id'>; readonly event: Pick<LoggedEvent, 'id'> };

/** Ids derive from rule and event, so that a rule makes at most one entry and one failure for an event. */
export const entryIdOf = ({ rule, event }: RuleAndEvent): string =>
  uuidFromName(`posting rule\n${rule.id}\n${event.id}`);
const failureIdOf = ({ rule, event }: RuleAndEvent): string =>
  uuidFromName(`posting failure\n${rule.id}\n${event.id}`);

interface Options {
  readonly slot?: Slot | undefined;
  /** Set when a person retries: a discarded entry is then drafted again. */
  readonly redraft?: boolean | undefined;
}

/** Why a rule could not be applied. */
type Refusal = Pick<PostingFailure, 'code' | 'message'>;

/** Applies posting rules to events (decisions, section 9, Posting rule). */
export class RuleRunner extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly events: EventStore;
  readonly entries: Entries;
  readonly posting: PostingProcess;
  readonly logger: Logger;
}> {
  /**
   * Makes the rule's entry, unless it exists or the rule does not match.
   * @returns the refusal; undefined when the rule was not refused
   * @throws {StoreUnavailable}, `unavailable`
   */
  async apply(
    application: RuleApplication,
    context: RequestContext,
    options: Options = {},
  ): Promise<Refusal | undefined> {
    try {
      await this.#apply(application, context, options);
      return undefined;
    } catch (error) {
      if (isUnavailable(error)) throw error;
      if (error instanceof DomainError) return reasonOf(error);
      if (error instanceof EventTooLarge) {
        return { code: 'payload_too_large', message: 'The entry is too large.' };
      }
      const { rule, event } = application;
      this.deps.logger.error({ err: error, rule_id: rule.id, event_id: event.id }, 'a posting rule failed');
      return { code: 'internal_error', message: 'The rule could not be applied.' };
    }
  }

  /**
   * Applies a rule in the background, and records its failure or resolves an earlier failure. Skips an application
   * whose failure is already resolved: if a person's retry resolved it, that retry may have used a changed rule.
   */
  async run(application: RuleApplication, context: RequestContext, slot?: Slot): Promise<void> {
    if (await this.#isResolved(application)) return;
    const refusal = await this.apply(application, context, { slot });
    if (refusal === undefined) {
      if (await this.#hasFailed(application)) await this.#resolve(application, context);
      return;
    }
    const { rule, event, source } = application;
    await this.#failure(application).execute(context, (state) =>
      recordFailure(state, {
        id: failureIdOf(application),
        ruleId: rule.id,
        eventId: event.id,
        kind: source.kind,
        source: { stream: event.stream, revision: event.revision },
        ...refusal,
      }),
    );
    // Another process may have made the entry meanwhile, so each process checks after it has recorded a failure.
    if (await this.#isRecorded(application)) await this.#resolve(application, context);
  }

  async #resolve(application: RuleApplication, context: RequestContext): Promise<void> {
    const entryId = entryIdOf(application);
    await this.#failure(application).execute(context, (state) => resolveFailure(state, entryId));
  }

  async #apply(
    { rule, event, source }: RuleApplication,
    context: RequestContext,
    { slot, redraft }: Options,
  ): Promise<void> {
    const { directory, entries, posting } = this.deps;
    const { tenantId, payload, kind } = source;
    const tenant = await directory.tenant(tenantId);
    if (tenant === undefined) throw new DomainError('not_found', 'There is no such tenant.');
    const { timezone, currency } = tenant;
    const { entry: given } = applyRule(rule, { payload, at: event.at, timezone, currency });
    if (given === undefined) return;
    const entry = { id: entryIdOf({ rule, event }), source: { kind, id: event.id, rule_id: rule.id } };
    if (rule.mode === 'draft') {
      await entries.draftOnce(tenantId, { ...entry, given, redraft }, context);
      return;
    }
    await posting.postOnce(tenantId, { ...entry, content: given }, context, slot);
  }

  /** Whether the rule's entry exists; in mode `post` only a posted one counts. Completes a running posting first. */
  async #isRecorded({ rule, event, source: { tenantId } }: RuleApplication): Promise<boolean> {
    const id = entryIdOf({ rule, event });
    await this.deps.posting.completeAttempt(tenantId, id);
    const { state: entry } = await this.deps.streams.of(entryStream, tenantId, id).load();
    return rule.mode === 'post' ? isPosted(entry) : !isVacant(entry);
  }

  async #isResolved(application: RuleApplication): Promise<boolean> {
    if (!(await this.#hasFailed(application))) return false;
    const { failure } = (await this.#failure(application).refresh()).state;
    return failure?.resolvedAt !== undefined;
  }

  /** Reads without caching: most applications have no failure. */
  async #hasFailed(application: RuleApplication): Promise<boolean> {
    const { name } = this.#failure(application);
    return (await this.deps.events.readStream(name, { limit: 1 })).length > 0;
  }

  #failure(application: RuleApplication) {
    const { tenantId } = application.source;
    return this.deps.streams.of(postingFailureStream, tenantId, failureIdOf(application));
  }
}
