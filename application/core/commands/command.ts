import type { Decided, DecisionContext, StreamType } from '../../../domain/core/stream-type.ts';
import type { Position } from '../../ports/event-store.ts';
import type { Cause, RecordedEvent } from '../events/event-codec.ts';
import type { StreamState } from './stream-states.ts';

/** A command on one stream. */
export interface Command<S, E, Facts = undefined> {
  readonly tenantId: string;
  readonly type: StreamType<S, E>;
  readonly id: string;
  readonly cause: Cause;
  /**
   * Facts from outside the state that must hold at the very revision the command is decided at. The stream takes no
   * other command of this process meanwhile; a race lost to another process asks again.
   */
  readonly prepare?: (head: StreamState<S>) => Promise<Facts>;
  readonly decide: (state: S, context: DecisionContext, facts: Facts) => readonly Decided<E>[];
  /**
   * Given when an earlier try of the same cause may have appended already: the stream is searched, back to the bound,
   * for events with this causation before anything is decided.
   */
  readonly priorAttempt?: PriorAttempt | undefined;
}

/** How far back an effect can lie: not before its cause began, or not before a time (ms). */
export type PriorAttempt = { readonly after: Position } | { readonly since: number };

export interface Outcome<S, E extends { type: string; data: unknown }> {
  /** What was appended: none when there was nothing to do. Personal fields are sealed. */
  readonly events: readonly RecordedEvent<E>[];
  readonly state: S;
  /** Where the stream stands now; undefined for a stream without events. */
  readonly position: Position | undefined;
}

/** The request or event that a command is for; a `RequestContext` is one. */
export interface CommandContext {
  readonly cause: Cause;
  /** Set when an earlier attempt of the same cause may have appended already. */
  readonly priorAttempt?: PriorAttempt | undefined;
}

export type Decide<S, E, Facts> = (state: S, context: DecisionContext, facts: Facts) => readonly Decided<E>[];

/** One of many commands on streams of one type. */
export interface StreamCommand<S, E, Facts = undefined> {
  readonly id: string;
  readonly context: CommandContext;
  readonly decide: Decide<S, E, Facts>;
  /** The state, when the caller has loaded it a moment ago. */
  readonly loaded?: StreamState<S> | undefined;
}

export interface ExecuteAllOptions<Facts = undefined> {
  /** The states do not stay in memory, which is left to what is asked for again. */
  readonly passing: boolean;
  /** Facts for all decisions, asked for once the states are read; again for a command that is executed by itself. */
  readonly prepare?: () => Promise<Facts>;
}

/** A command as it waits for its turn on its stream. */
export interface Waiting {
  readonly command: Command<unknown, { type: string; data: unknown }, unknown>;
  readonly deadline: number;
  readonly resolve: (outcome: Outcome<unknown, { type: string; data: unknown }>) => void;
  readonly reject: (error: unknown) => void;
}
