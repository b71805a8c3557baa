import type { EventMeta } from './event.ts';

/** Facts from outside the stream that a decision needs: no clock and no randomness inside the domain. */
export interface DecisionContext {
  /** Now in ms, never before the stream's last event. */
  readonly now: number;
}

/** An event as decided; `at` (ms) when it must be later than now. */
export type Decided<E> = E & { readonly at?: number };

/**
 * A decider: how a stream's state grows from its events. Decisions are plain functions
 * `(state, command, context) => events` beside it; no events means there is nothing to do.
 */
export interface Decider<State, Event> {
  /** Part of the stream's name: `<tenant>.<category>-<id>`. */
  readonly category: string;
  /** Grows when the state's shape or meaning changes: older snapshots are then ignored. */
  readonly stateVersion: number;
  readonly initial: State;
  readonly evolve: (state: State, event: Event, meta: EventMeta) => State;
  /**
   * Whether the event that comes next says all anew that an event tells the state, so that it need not be read.
   * @param event `data` is its text, as canonical JSON
   */
  readonly isSuperseded?: (
    state: State,
    event: { readonly type: string; readonly data: string },
    next: { readonly type: string },
  ) => boolean;
  /** Such streams end after a few events: nobody takes snapshots of them, or looks for any. */
  readonly isShort?: boolean;
}
