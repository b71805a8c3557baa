import { type RowRefusal, refusalOfError, tooLarge } from '../../domain/bulk/outcomes.ts';
import { DomainError } from '../../domain/core/errors.ts';
import type { LiveRecord, RecordState } from '../../domain/entities/record.ts';
import { EventTooLarge, type Position, StoreUnavailable } from '../ports/event-store.ts';
import { stateOf } from './dry-run.ts';

export type RowResult =
  | { readonly kind: 'succeeded'; readonly position?: Position | undefined }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'error'; readonly currentState: string; readonly refusal: RowRefusal }
  /** The deletion is refused while the referrer exists. */
  | {
      readonly kind: 'restricted';
      readonly currentState: string;
      readonly refusal: RowRefusal;
      readonly referrerId: string;
    };

export const error = (refusal: RowRefusal, currentState: string): RowResult => ({
  kind: 'error',
  currentState,
  refusal,
});
export const lostRace = (): DomainError =>
  new DomainError('unavailable', 'The record is too busy at the moment.');

/** Detects a tampered log, so that another record is not changed. */
export const refuseMixUp = (state: RecordState, recordId: string): void => {
  if ('id' in state && state.id !== recordId) throw new Error('a record bears the id of another');
};

export const isLostRace = (thrown: unknown): boolean =>
  thrown instanceof DomainError && (thrown.code === 'conflict' || thrown.code === 'not_found');

/** @throws `unavailable` after a lost race, and errors that are no result of a row */
export const refused = (thrown: unknown, state: LiveRecord | undefined): RowResult => {
  if (state === undefined || thrown instanceof StoreUnavailable) throw thrown;
  if (thrown instanceof EventTooLarge) return error(tooLarge, stateOf(state));
  if (isLostRace(thrown)) throw lostRace();
  const refusal = refusalOfError(thrown);
  if (refusal === undefined) throw thrown;
  return error(refusal, stateOf(state));
};
