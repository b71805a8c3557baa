import type { Decided, DecisionContext, StreamType } from '../../../domain/core/stream-type.ts';
import type { Position } from '../../ports/event-store.ts';
import type { AnyEvent, Cause, RecordedEvent } from '../events/event-codec.ts';
import type { AnyStreamType, StreamState } from './stream-states.ts';

/** The request or event that causes a command. A `RequestContext` can be passed as one. */
export interface CommandContext {
  readonly cause: Cause;
  /**
   * Set when an earlier try of the same cause may have appended. Before the command is decided, the stream is searched
   * back to this bound for events with the same causation id and actor.
   */
  readonly priorAttempt?: PriorAttempt | undefined;
}

export type Decide<S, E, Facts> = (state: S, context: DecisionContext, facts: Facts) => readonly Decided<E>[];

/** A decision, perhaps with facts from outside the stream. */
export interface PreparedDecision<S, E, Facts> {
  /**
   * Loads facts from outside the state. Called after the events of all earlier commands in the stream's queue of this
   * process were appended; called again whenever the command is decided again.
   */
  readonly prepare?: (current: StreamState<S>) => Promise<Facts>;
  readonly decide: Decide<S, E, Facts>;
  /**
   * The stream most likely has no events. Without a `priorAttempt`, it is read only after a lost race, a refusal or a
   * decision to write nothing.
   */
  readonly isNew?: boolean | undefined;
}

/** A command on one stream. */
export interface Command<S, E, Facts = undefined> extends CommandContext, PreparedDecision<S, E, Facts> {
  readonly tenantId: string;
  readonly type: StreamType<S, E>;
  readonly id: string;
}

/** Where events of an earlier try can be: only after a position, or only at a time (ms) or later. */
export type PriorAttempt = { readonly after: Position } | { readonly since: number };

export interface Outcome<S, E extends { type: string; data: unknown }> {
  /** Events that this or an earlier try appended; empty for a decision to write nothing. Personal fields are sealed. */
  readonly events: readonly RecordedEvent<E>[];
  readonly state: S;
  /** Position of the stream's last event; undefined for a stream without events. */
  readonly position: Position | undefined;
}

/** The result of a use case, with the position of the stream's last event. */
export type Written<Result> = Result & { readonly position: Position | undefined };

/** One of many commands on streams of one type. */
export interface StreamCommand<S, E, Facts = undefined> {
  readonly id: string;
  readonly context: CommandContext;
  readonly decide: Decide<S, E, Facts>;
  /** The stream's state, if the caller has just loaded it. */
  readonly loaded?: StreamState<S> | undefined;
}

export interface ExecuteAllOptions<Facts = undefined> {
  /**
   * Keeps loaded states of short streams, and all written states, out of the cache. For streams that are rarely read
   * again.
   */
  readonly uncached: boolean;
  /** Loads facts for all decisions, after the states were read; called again for a command that is executed alone. */
  readonly prepare?: () => Promise<Facts>;
}

/** A {@link Command} of any type. Has methods, since TypeScript checks parameter types of methods less strictly. */
interface AnyCommand
  extends Pick<Command<unknown, AnyEvent>, 'tenantId' | 'cause' | 'priorAttempt' | 'isNew'> {
  readonly type: AnyStreamType;
  prepare?(current: StreamState): Promise<unknown>;
  decide(state: unknown, context: DecisionContext, facts: unknown): readonly Decided<AnyEvent>[];
}

/** A command in the queue of its stream. */
export interface QueuedCommand {
  readonly command: AnyCommand;
  readonly deadline: number;
  resolve(outcome: Outcome<unknown, AnyEvent>): void;
  reject(error: unknown): void;
}
