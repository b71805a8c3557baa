import { DomainError } from '../../domain/core/errors.ts';
import {
  type FailureState,
  type PostingFailureEvent,
  postingFailureStream,
  reasonOf,
  recordFailure,
  resolveFailure,
} from '../../domain/ledger/posting-failure.ts';
import type { PostingRule } from '../../domain/ledger/posting-rule.ts';
import { applyRule } from '../../domain/ledger/rule-entry.ts';
import type { Outcome } from '../core/commands/command.ts';
import { type RequestContext, uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import { isUnavailable } from '../core/concurrency/retry-policy.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';
import { type EventStore, EventTooLarge } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Entries } from './entries.ts';
import type { Slot } from './posting.ts';
import type { SourceEvent } from './posting-sources.ts';

/** A rule and an event to apply it to. */
export interface Application {
  readonly rule: PostingRule;
  readonly event: LoggedEvent;
  readonly source: SourceEvent;
}

type Which = { readonly rule: Pick<PostingRule, 'id'>; readonly event: Pick<LoggedEvent, 'id'> };

/** Derived ids: a rule and an event have one entry and one failure. */
export const entryIdOf = ({ rule, event }: Which): string =>
  uuidFromName(`posting rule\n${rule.id}\n${event.id}`);
export const failureIdOf = ({ rule, event }: Which): string =>
  uuidFromName(`posting failure\n${rule.id}\n${event.id}`);

interface Options {
  readonly slot?: Slot | undefined;
  /** Set when a person retries: makes an entry again that was discarded. */
  readonly redraft?: boolean | undefined;
}

/** Why a rule could not be applied. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** Applies posting rules to events (decisions, section 9, Posting rule). */
export class RuleRunner extends WithDeps<{
  readonly streams: Streams;
  readonly directory: Directory;
  readonly events: EventStore;
  readonly entries: Entries;
  readonly logger: Logger;
}> {
  /**
   * Makes the rule's entry, unless it exists or the rule does not match.
   * @returns the refusal; undefined for none
   * @throws {StoreUnavailable}, `unavailable`
   */
  async apply(
    application: Application,
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
   * As {@link apply}, in the background: records a failure, or resolves an earlier one. Does nothing when a retry has
   * resolved the failure, since the rule may have been changed for it.
   */
  async run(application: Application, context: RequestContext, slot?: Slot): Promise<void> {
    if (await this.#isResolved(application)) return;
    const refusal = await this.apply(application, context, { slot });
    if (refusal === undefined) {
      if (await this.#hasFailed(application)) {
        await this.#onFailure(application, context, resolved(application));
      }
      return;
    }
    const { rule, event, source } = application;
    await this.#onFailure(application, context, (state) =>
      recordFailure(state, {
        id: failureIdOf(application),
        ruleId: rule.id,
        eventId: event.id,
        kind: source.kind,
        source: { stream: event.stream, revision: event.revision },
        ...refusal,
      }),
    );
    // Another process may have succeeded meanwhile, so each checks after its write.
    if (await this.deps.entries.isRecorded(source.tenantId, entryIdOf(application), rule.mode)) {
      await this.#onFailure(application, context, resolved(application));
    }
  }

  async #apply(
    { rule, event, source }: Application,
    context: RequestContext,
    { slot, redraft }: Options,
  ): Promise<void> {
    const { tenantId, payload, kind } = source;
    const tenant = await this.deps.directory.tenant(tenantId);
    if (tenant === undefined) throw new DomainError('not_found', 'There is no such tenant.');
    const { timezone, currency } = tenant;
    const outcome = applyRule(rule, { payload, at: event.at, timezone, currency });
    if (!outcome.matches || outcome.entry === undefined) return;
    await this.deps.entries.record(
      tenantId,
      {
        id: entryIdOf({ rule, event }),
        given: outcome.entry,
        source: { kind, id: event.id, rule_id: rule.id },
        mode: rule.mode,
        redraft,
      },
      context,
      slot,
    );
  }

  async #isResolved(application: Application): Promise<boolean> {
    if (!(await this.#hasFailed(application))) return false;
    const { tenantId } = application.source;
    const id = failureIdOf(application);
    const { failure } = (await this.deps.streams.of(postingFailureStream, tenantId, id).refresh()).state;
    return failure?.resolvedAt !== undefined;
  }

  /** Reads without caching: most applications have no failure. */
  async #hasFailed(application: Application): Promise<boolean> {
    const { category } = postingFailureStream;
    const stream = streamName(application.source.tenantId, category, failureIdOf(application));
    return (await this.deps.events.readStream(stream, { limit: 1 })).length > 0;
  }

  #onFailure(
    application: Application,
    { cause }: RequestContext,
    decide: (state: FailureState) => readonly PostingFailureEvent[],
  ): Promise<Outcome<FailureState, PostingFailureEvent>> {
    const { tenantId } = application.source;
    const id = failureIdOf(application);
    return this.deps.streams.of(postingFailureStream, tenantId, id).execute({ cause }, decide);
  }
}

const resolved =
  (application: Application) =>
  (state: FailureState): readonly PostingFailureEvent[] =>
    resolveFailure(state, entryIdOf(application));
