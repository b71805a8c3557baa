import type { EventMeta } from './event.ts';

/** Facts from outside the stream. The domain reads no clock and draws no random number. */
export interface DecisionContext {
  /** Now in ms, never before the stream's last event. */
  readonly now: number;
}

/** An event as decided; `at` (ms) is set when it must be later than now. */
export type Decided<E> = E & { readonly at?: number };

/**
 * How events fold into a stream's state. Decisions are separate functions `(state, command, context) => events`; an
 * empty list changes nothing.
 */
export interface StreamType<State, Event> {
  /** Part of the stream's name: `<tenant>.<category>-<id>`. */
  readonly category: string;
  /** Raised when the state's shape or meaning changes; snapshots of other versions are ignored. */
  readonly stateVersion: number;
  readonly initial: State;
  readonly evolve: (state: State, event: Event, meta: EventMeta) => State;
}
