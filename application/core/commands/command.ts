import type { Decided, Decider, DecisionContext } from '../domain/decider.ts';
import type { Cause, RecordedEvent } from './codec.ts';
import type { Position } from './ports/event-store.ts';
import type { StreamState } from './stream-states.ts';

/** A command on one stream. */
export interface Command<S, E, Facts = undefined> {
  readonly tenantId: string;
  readonly decider: Decider<S, E>;
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
  readonly again?: Again | undefined;
}

/** How far back an effect can lie: not before its cause began, or not before a time (ms). */
export type Again = { readonly after: Position } | { readonly since: number };

export interface Outcome<S, E extends { type: string; data: unknown }> {
  /** What was appended: none when there was nothing to do. Personal fields are sealed. */
  readonly events: readonly RecordedEvent<E>[];
  readonly state: S;
  /** Where the stream stands now; undefined for a stream without events. */
  readonly position: Position | undefined;
}

/** A command as it waits for its turn on its stream. */
export interface Waiting {
  readonly command: Command<unknown, { type: string; data: unknown }, unknown>;
  readonly deadline: number;
  readonly resolve: (outcome: Outcome<unknown, { type: string; data: unknown }>) => void;
  readonly reject: (error: unknown) => void;
}
