import { DomainError } from '../domain/errors.ts';
import {
  type FailureState,
  type PostingFailureEvent,
  postingFailureDecider,
  reasonOf,
  recordFailure,
  resolveFailure,
} from '../domain/ledger/posting-failure.ts';
import type { PostingRule } from '../domain/ledger/posting-rule.ts';
import { applyRule } from '../domain/ledger/rule-entry.ts';
import type { LoggedEvent } from './codec.ts';
import type { CommandHandler, Outcome } from './command-handler.ts';
import type { Directory } from './directory.ts';
import type { Ledger } from './ledger.ts';
import { type EventStore, EventTooLarge, StoreUnavailable } from './ports/event-store.ts';
import type { Logger } from './ports/logger.ts';
import type { SourceEvent } from './posting-sources.ts';
import type { Turn } from './postings.ts';
import { type RequestContext, uuidFromName } from './request-context.ts';
import { streamName } from './streams.ts';

/** A rule, and an event that it is of. */
export interface Application {
  readonly rule: PostingRule;
  readonly event: LoggedEvent;
  readonly source: SourceEvent;
}

type Which = { readonly rule: Pick<PostingRule, 'id'>; readonly event: Pick<LoggedEvent, 'id'> };

/** One entry and one failure for a rule and an event, whoever tries, and however often. */
export const entryIdOf = ({ rule, event }: Which): string =>
  uuidFromName(`posting rule\n${rule.id}\n${event.id}`);
export const failureIdOf = ({ rule, event }: Which): string =>
  uuidFromName(`posting failure\n${rule.id}\n${event.id}`);

/** Why a rule could not be applied. */
export interface Refusal {
  readonly code: string;
  readonly message: string;
}

/** What can be tried again at once is thrown; all else is the rule's failure, and stops nothing. */
const isPassing = (error: unknown): boolean =>
  error instanceof StoreUnavailable || (error instanceof DomainError && error.code === 'unavailable');

/** Applies posting rules to events, by the derived ids of what that makes (decisions, section 9, Posting rule). */
export class RuleRunner {
  readonly #commands: CommandHandler;
  readonly #directory: Directory;
  readonly #events: EventStore;
  readonly #ledger: Ledger;
  readonly #logger: Logger;

  constructor(deps: {
    commands: CommandHandler;
    directory: Directory;
    events: EventStore;
    ledger: Ledger;
    logger: Logger;
  }) {
    this.#commands = deps.commands;
    this.#directory = deps.directory;
    this.#events = deps.events;
    this.#ledger = deps.ledger;
    this.#logger = deps.logger;
  }

  /**
   * Makes the rule's entry, or does nothing where it is there, where the rule does not match or gives nothing.
   * @returns why not; undefined when all is well
   * @throws {StoreUnavailable}, `unavailable`
   */
  async apply(application: Application, context: RequestContext, turn?: Turn): Promise<Refusal | undefined> {
    try {
      await this.#apply(application, context, turn);
      return undefined;
    } catch (error) {
      if (isPassing(error)) throw error;
      if (error instanceof DomainError) return reasonOf(error);
      if (error instanceof EventTooLarge) {
        return { code: 'payload_too_large', message: 'The entry is too large.' };
      }
      const { rule, event } = application;
      this.#logger.error({ err: error, rule_id: rule.id, event_id: event.id }, 'a posting rule failed');
      return { code: 'internal_error', message: 'The rule could not be applied.' };
    }
  }

  /** As {@link apply}, in the background: a failure is written down, and one of before is resolved. */
  async run(application: Application, context: RequestContext, turn?: Turn): Promise<void> {
    const refusal = await this.apply(application, context, turn);
    if (refusal === undefined) {
      if (await this.#hasFailed(application))
        await this.#onFailure(application, context, resolved(application));
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
    // A process that was slow may have lost to one that succeeded: each looks after it has written.
    if (await this.#ledger.isRecorded(source.tenantId, entryIdOf(application))) {
      await this.#onFailure(application, context, resolved(application));
    }
  }

  async #apply({ rule, event, source }: Application, context: RequestContext, turn?: Turn): Promise<void> {
    const { tenantId, payload, kind } = source;
    const tenant = await this.#directory.tenant(tenantId);
    if (tenant === undefined) throw new DomainError('not_found', 'There is no such tenant.');
    const { timezone, currency } = tenant;
    const outcome = applyRule(rule, { payload, at: event.at, timezone, currency });
    if (!outcome.matches || outcome.entry === undefined) return;
    await this.#ledger.record(
      tenantId,
      {
        id: entryIdOf({ rule, event }),
        given: outcome.entry,
        source: { kind, id: event.id, rule_id: rule.id },
        mode: rule.mode,
      },
      context,
      turn,
    );
  }

  /** Asks the store, and keeps nothing in memory: mostly there is none. */
  async #hasFailed(application: Application): Promise<boolean> {
    const { category } = postingFailureDecider;
    const stream = streamName(application.source.tenantId, category, failureIdOf(application));
    return (await this.#events.readStream(stream, { limit: 1 })).length > 0;
  }

  #onFailure(
    application: Application,
    { cause }: RequestContext,
    decide: (state: FailureState) => readonly PostingFailureEvent[],
  ): Promise<Outcome<FailureState, PostingFailureEvent>> {
    const { tenantId } = application.source;
    const id = failureIdOf(application);
    return this.#commands.execute({ tenantId, decider: postingFailureDecider, id, cause, decide });
  }
}

const resolved =
  (application: Application) =>
  (state: FailureState): readonly PostingFailureEvent[] =>
    resolveFailure(state, entryIdOf(application));
