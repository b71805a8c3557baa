import { notFound } from '../core/errors.ts';
import { decided } from '../core/event.ts';
import type { Values } from './fields.ts';
import {
  isPresent,
  RecordDeleted,
  RecordDeletionAbandoned,
  RecordDeletionStarted,
  type RecordEvent,
  type RecordState,
  RecordUpdated,
  ReferenceBarred,
  ReferenceRegistered,
  ReferenceReleased,
  type Registration,
} from './record.ts';
import { checkVersion } from './record-values.ts';

/**
 * References between records, and cascading deletion (decisions, section 6; decision 11). Each function decides on
 * one stream; application/entities/deletions.ts runs the steps in order.
 */

const baseOf = (state: { readonly id: string; readonly entityName: string }) => ({
  record_id: state.id,
  entity_name: state.entityName,
});

// The referrer's side

/** Keys of the reference fields by which a record points to the target. */
export const keysPointingTo = (state: RecordState, targetId: string): readonly string[] =>
  isPresent(state)
    ? Object.keys(state.values).filter(
        (key) => state.types[key] === 'reference' && state.values[key] === targetId,
      )
    : [];

/** Clears references to a deleted record, even references in required fields. */
export const clearReferences = (state: RecordState, targetId: string): readonly RecordEvent[] => {
  const keys = new Set(keysPointingTo(state, targetId));
  if (!isPresent(state) || keys.size === 0) return [];
  const without = <T>(entries: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => !keys.has(key)));
  const values: Values = without(state.values);
  return decided(RecordUpdated, {
    ...baseOf(state),
    values,
    types: without(state.types),
    changed: [...keys],
    version: state.version + 1,
    cleared_by: targetId,
  });
};

/** Whether the field's present reference was written with this registration. */
export const isUsed = (state: RecordState, { id, referrer }: Registration): boolean =>
  isPresent(state) && state.registrations[referrer.field_key] === id;

/** Refuses later writes that use the registration. */
export const barReference = (
  state: RecordState,
  { id, referrer }: Pick<Registration, 'id' | 'referrer'>,
): readonly RecordEvent[] => {
  if (state.status === 'deleted' || state.barred.includes(id)) return [];
  const { record_id, entity_name } = referrer;
  return decided(ReferenceBarred, { record_id, entity_name, registration_id: id });
};

// The target's side

/** Registers a referrer before it is written. @throws `not_found` when the target is not live */
export const registerReference = (
  state: RecordState,
  entityName: string,
  registration: Pick<Registration, 'id' | 'referrer'>,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || state.entityName !== entityName) throw notFound();
  return decided(ReferenceRegistered, {
    ...baseOf(state),
    registration_id: registration.id,
    referrer: registration.referrer,
  });
};

/** Drops registrations whose referrers are written, deleted or barred, or whose write was refused. */
export const releaseReferences = (state: RecordState, ids: readonly string[]): readonly RecordEvent[] => {
  if (!isPresent(state)) return [];
  const known = state.pending.filter(({ id }) => ids.includes(id)).map(({ id }) => id);
  if (known.length === 0) return [];
  return decided(ReferenceReleased, { ...baseOf(state), registration_ids: known });
};

// Deletion

interface StartDeletion {
  readonly deletionId: string;
  readonly ifVersion?: number | undefined;
}

/** Marks the record that the caller deletes. @throws `not_found`; `conflict` at another version */
export const startDeletion = (
  state: RecordState,
  entityName: string,
  { deletionId, ifVersion }: StartDeletion,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || state.entityName !== entityName) throw notFound();
  checkVersion(state.version, ifVersion);
  return decided(RecordDeletionStarted, { ...baseOf(state), deletion_id: deletionId });
};

/** An attempt to delete a record and its cascade. */
export interface DeletionAttempt {
  readonly deletionId: string;
  /** The record that the caller deletes. */
  readonly rootId: string;
}

export const isPartOf = (state: RecordState, { deletionId }: DeletionAttempt): boolean =>
  (state.status === 'deleting' || state.status === 'deleted') && state.deletion.id === deletionId;

/** Marks a live record for deletion when it still points to `targetId`. */
export const markForDeletion = (
  state: RecordState,
  targetId: string,
  { deletionId, rootId }: DeletionAttempt,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || keysPointingTo(state, targetId).length === 0) return [];
  return decided(RecordDeletionStarted, { ...baseOf(state), deletion_id: deletionId, cascade_of: rootId });
};

/** Restores a marked record; no events for a record that this deletion has not marked. */
export const abandonDeletion = (state: RecordState, deletionId: string): readonly RecordEvent[] => {
  if (state.status !== 'deleting' || state.deletion.id !== deletionId) return [];
  const { cascadeOf: cascade_of } = state.deletion;
  return decided(RecordDeletionAbandoned, { ...baseOf(state), deletion_id: deletionId, cascade_of });
};

/** Deletes a marked record; no events for a record that this deletion has not marked. */
export const finishDeletion = (state: RecordState, deletionId: string): readonly RecordEvent[] => {
  if (state.status !== 'deleting' || state.deletion.id !== deletionId) return [];
  const { values, version, deletion } = state;
  const cascade_of = deletion.cascadeOf;
  return decided(RecordDeleted, { ...baseOf(state), deletion_id: deletionId, cascade_of, values, version });
};
