import { z } from 'zod';
import { type DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { folded, type StreamType } from '../core/stream-type.ts';
import { SOURCE_KINDS, type SourceKind } from './rule-sources.ts';

/**
 * A posting rule that could not be applied to an event (decisions, section 9, Posting rule). The stream's id derives
 * from the rule and the event, so repeated attempts share one failure.
 */

// Events

const base = { failure_id: z.string(), rule_id: z.string(), event_id: z.string() };
const reason = {
  /** An error code of the interface, or why the payload gives no entry (rule-entry.ts). */
  code: z.string(),
  message: z.string(),
};

export const PostingRuleFailed = defineEvent(
  'PostingRuleFailed',
  z.object({
    ...base,
    source_kind: z.enum(SOURCE_KINDS),
    /** The event that the rule was applied to. */
    source: z.object({ stream: z.string(), revision: z.number() }),
    ...reason,
  }),
);
export const PostingRetryFailed = defineEvent('PostingRetryFailed', z.object({ ...base, ...reason }));
export const PostingFailureResolved = defineEvent(
  'PostingFailureResolved',
  z.object({
    ...base,
    /** Id of the rule's entry for the event; set even if the rule then made no entry. */
    entry_id: z.string().optional(),
  }),
);

export const postingFailureEvents = [PostingRuleFailed, PostingRetryFailed, PostingFailureResolved] as const;
export type PostingFailureEvent = EventOf<(typeof postingFailureEvents)[number]>;

// State

export interface PostingFailure {
  readonly id: string;
  readonly ruleId: string;
  readonly eventId: string;
  readonly kind: SourceKind;
  readonly source: { readonly stream: string; readonly revision: number };
  readonly code: string;
  readonly message: string;
  readonly attempts: number;
  /** ms */
  readonly createdAt: number;
  readonly resolvedAt?: number | undefined;
}

export const evolveFailure = folded<PostingFailure | undefined, PostingFailureEvent>({
  PostingRuleFailed: (_state, data, { at }) => ({
    id: data.failure_id,
    ruleId: data.rule_id,
    eventId: data.event_id,
    kind: data.source_kind,
    source: data.source,
    code: data.code,
    message: data.message,
    attempts: 1,
    createdAt: at,
  }),
  PostingRetryFailed: (state, { code, message }) =>
    state && { ...state, code, message, attempts: state.attempts + 1 },
  PostingFailureResolved: (state, _data, { at }) => state && { ...state, resolvedAt: at },
});

/** Wraps the failure, because a stream's state must be an object. */
export interface FailureState {
  readonly failure?: PostingFailure | undefined;
}

export const postingFailureStream: StreamType<FailureState, PostingFailureEvent> = {
  category: 'posting_failure',
  stateVersion: 1,
  initial: {},
  evolve: ({ failure }, event, meta) => ({ failure: evolveFailure(failure, event, meta) }),
};

// Decide

/** @throws `not_found` */
export const failureOf = ({ failure }: FailureState): PostingFailure => {
  if (failure === undefined) throw notFound();
  return failure;
};

/** No events when the failure is already recorded: a repeated event is not a second attempt. */
export const recordFailure = (
  { failure }: FailureState,
  given: Pick<PostingFailure, 'id' | 'ruleId' | 'eventId' | 'kind' | 'source' | 'code' | 'message'>,
): readonly PostingFailureEvent[] => {
  if (failure !== undefined) return [];
  const { kind, source, code, message } = given;
  return decided(PostingRuleFailed, { ...named(given), source_kind: kind, source, code, message });
};

/** No events when the failure is already resolved. @throws `not_found` */
export const failRetry = (
  state: FailureState,
  { code, message }: Pick<PostingFailure, 'code' | 'message'>,
): readonly PostingFailureEvent[] => {
  const failure = failureOf(state);
  if (failure.resolvedAt !== undefined) return [];
  return decided(PostingRetryFailed, { ...named(failure), code, message });
};

/** No events when there is no open failure. */
export const resolveFailure = (
  { failure }: FailureState,
  entryId: string | undefined,
): readonly PostingFailureEvent[] =>
  failure === undefined || failure.resolvedAt !== undefined
    ? []
    : decided(PostingFailureResolved, { ...named(failure), entry_id: entryId });

const named = ({ id, ruleId, eventId }: Pick<PostingFailure, 'id' | 'ruleId' | 'eventId'>) => ({
  failure_id: id,
  rule_id: ruleId,
  event_id: eventId,
});

/** Code and message that the list of failures shows; for a refused value, the code of its first issue. */
export const reasonOf = ({ code, message, issues }: DomainError): { code: string; message: string } => {
  const isRefusedValue = code === 'constraint_violated' || code === 'validation_failed';
  return { code: (isRefusedValue ? issues[0]?.code : undefined) ?? code, message };
};
