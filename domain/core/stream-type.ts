import type { EventMeta } from './event.ts';

/** Facts from outside the stream. The domain reads no clock and draws no random number. */
export interface DecisionContext {
  /** Now in ms, never before the stream's last event. */
  readonly now: number;
}

/** Wanted values of some members; a member that is undefined keeps its value. */
export type Changes<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** The members of `wanted` that are defined and differ from `present` as JSON. */
export const changedMembers = <T extends object>(present: T, wanted: Changes<T>): Partial<T> => {
  const changed: Partial<T> = {};
  for (const key in wanted) {
    const value = wanted[key];
    if (value === undefined || JSON.stringify(value) === JSON.stringify(present[key])) continue;
    changed[key] = value;
  }
  return changed;
};

/** An event as decided. `at` (ms), if set, is its time instead of now, but never before the stream's last event. */
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

/** Streams without state: their decisions do not depend on earlier events. */
export const stateless = <Event>(category: string): StreamType<null, Event> => ({
  category,
  stateVersion: 1,
  initial: null,
  evolve: (state) => state,
});

/** The state after an event, for each event type. */
type Folds<State, Event extends { readonly type: string; readonly data: unknown }> = {
  readonly [Type in Event['type']]: (
    state: State,
    data: Extract<Event, { readonly type: Type }>['data'],
    meta: EventMeta,
  ) => State;
};

/** Builds `evolve` from one fold per event type. */
export const folded = <State, Event extends { readonly type: string; readonly data: unknown }>(
  folds: Folds<State, Event>,
): StreamType<State, Event>['evolve'] => {
  const byType = new Map<string, (state: State, data: unknown, meta: EventMeta) => State>(
    Object.entries(folds),
  );
  return (state, event, meta) => {
    const fold = byType.get(event.type);
    return fold === undefined ? state : fold(state, event.data, meta);
  };
};

/** Restricts a fold to some states; all other states stay as they are. */
export const onlyIn =
  <State, Some extends State>(isSome: (state: State) => state is Some) =>
  <Data>(fold: (state: Some, data: Data, meta: EventMeta) => State) =>
  (state: State, data: Data, meta: EventMeta): State =>
    isSome(state) ? fold(state, data, meta) : state;
