import type { EventMeta } from './event.ts';

/** Facts from outside the stream that a decision needs: the domain reads no clock and draws no random number. */
export interface DecisionContext {
  /** Now in ms, never before the stream's last event. */
  readonly now: number;
}

/** An event as decided; `at` (ms) is set when it must be later than now. */
export type Decided<E> = E & { readonly at?: number };

/**
 * How a stream's state is folded from its events. Decisions are plain functions
 * `(state, command, context) => events` beside it; an empty list means that nothing changes.
 */
export interface StreamType<State, Event> {
  /** Part of the stream's name: `<tenant>.<category>-<id>`. */
  readonly category: string;
  /** Raised when the state's shape or meaning changes; snapshots of other versions are ignored. */
  readonly stateVersion: number;
  readonly initial: State;
  readonly evolve: (state: State, event: Event, meta: EventMeta) => State;
}
