import { expect } from 'chai';
import { DomainError, type ErrorCode } from '../../domain/core/errors.ts';
import type { Decided, DecisionContext, StreamType } from '../../domain/core/stream-type.ts';

/** A past event with its time (ms); by default a second after the previous one. */
export type Past<E> = E & { readonly at?: number };

/** 2026-01-01T00:00:00Z, the start of every history. */
export const BEGINNING = Date.UTC(2026, 0, 1);

type Decide<S, E> = (state: S, context: DecisionContext) => readonly Decided<E>[];

/**
 * Tests a decision: `given(type, …events).when(decide).gives(…events)`, `.givesNothing()`, `.isRefused(code)`.
 */
export const given = <S, E extends { type: string; data: unknown }>(
  type: StreamType<S, E>,
  ...history: readonly Past<NoInfer<E>>[]
) => {
  let at = BEGINNING;
  let state = type.initial;
  history.forEach((event, revision) => {
    at = event.at ?? at + 1000;
    state = type.evolve(state, event, { at, revision });
  });
  return {
    state,
    when: (decide: Decide<S, E>, now = at + 1000) => outcome(type, state, history.length, decide, now),
  };
};

const outcome = <S, E extends { type: string; data: unknown }>(
  type: StreamType<S, E>,
  state: S,
  revision: number,
  decide: Decide<S, E>,
  now: number,
) => {
  const run = (): readonly Decided<E>[] => decide(state, { now });
  return {
    events: run,
    gives: (...events: readonly Decided<E>[]) => expect(run()).to.deep.equal(events),
    givesNothing: () => expect(run()).to.deep.equal([]),
    /** Checks that deciding again on the resulting state gives no events. */
    thenAgainNothing: () => {
      const after = run().reduce(
        (folded, event, index) =>
          type.evolve(folded, event, { at: event.at ?? now, revision: revision + index }),
        state,
      );
      expect(decide(after, { now: now + 1 })).to.deep.equal([]);
    },
    isRefused: (code: ErrorCode, details?: unknown) => {
      const error = refusal(run);
      expect(error.code).to.equal(code);
      if (details !== undefined) expect(error.details).to.deep.equal(details);
    },
  };
};

/** The domain error that `action` throws. */
export const refusal = (action: () => unknown): DomainError => {
  try {
    action();
  } catch (error) {
    if (error instanceof DomainError) return error;
    throw error;
  }
  throw new Error('it was not refused');
};
