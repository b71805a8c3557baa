import { notFound } from '../errors.ts';
import type { Values } from './fields.ts';
import type { DeletingRecord, LiveRecord, RecordState, Registration } from './record.ts';
import { refuseVersion } from './record-decisions.ts';
import type { RecordEvent } from './record-events.ts';

/**
 * References and the deletion of what they point to (decisions, section 6; docs/decisions/0011-references-are-registered-first.md). Each function
 * decides on one stream; `application/deletions.ts` leads through them.
 */

const isPresent = (state: RecordState): state is LiveRecord | DeletingRecord =>
  state.status === 'live' || state.status === 'deleting';

const baseOf = (state: { readonly id: string; readonly entityName: string }) => ({
  record_id: state.id,
  entity_name: state.entityName,
});

// The referrer's side

/** Keys of the reference fields by which a record points to another. */
export const keysPointingTo = (state: RecordState, targetId: string): readonly string[] =>
  isPresent(state)
    ? Object.keys(state.values).filter(
        (key) => state.types[key] === 'reference' && state.values[key] === targetId,
      )
    : [];

/** Takes away what points to a deleted record, whatever the schema asks of the field. */
export const clearReferences = (state: RecordState, targetId: string): readonly RecordEvent[] => {
  const keys = new Set(keysPointingTo(state, targetId));
  if (!isPresent(state) || keys.size === 0) return [];
  const without = <T>(entries: Readonly<Record<string, T>>): Record<string, T> =>
    Object.fromEntries(Object.entries(entries).filter(([key]) => !keys.has(key)));
  const values: Values = without(state.values);
  return [
    {
      type: 'RecordUpdated',
      data: {
        ...baseOf(state),
        values,
        types: without(state.types),
        changed: [...keys],
        version: state.version + 1,
        cleared_by: targetId,
      },
    },
  ];
};

/** Whether a write has made use of a registration: it will not do so again. */
export const isUsed = (state: RecordState, { id, referrer }: Registration): boolean =>
  isPresent(state) && state.registrations[referrer.field_key] === id;

/** A write that still counts on the registration is refused from here on. */
export const barReference = (
  state: RecordState,
  { id, referrer }: Pick<Registration, 'id' | 'referrer'>,
): readonly RecordEvent[] => {
  if (state.status === 'deleted' || state.barred.includes(id)) return [];
  const { record_id, entity_name } = referrer;
  return [{ type: 'ReferenceBarred', data: { record_id, entity_name, registration_id: id } }];
};

// The target's side

/** @throws `not_found` when there is nothing to point to */
export const registerReference = (
  state: RecordState,
  entityName: string,
  registration: Pick<Registration, 'id' | 'referrer'>,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || state.entityName !== entityName) throw notFound();
  return [
    {
      type: 'ReferenceRegistered',
      data: { ...baseOf(state), registration_id: registration.id, referrer: registration.referrer },
    },
  ];
};

export const releaseReferences = (state: RecordState, ids: readonly string[]): readonly RecordEvent[] => {
  if (!isPresent(state)) return [];
  const known = state.pending.filter(({ id }) => ids.includes(id)).map(({ id }) => id);
  if (known.length === 0) return [];
  return [{ type: 'ReferenceReleased', data: { ...baseOf(state), registration_ids: known } }];
};

// Deletion

export interface StartDeletion {
  readonly deletionId: string;
  readonly ifVersion?: number | undefined;
}

/** @throws `not_found`, `conflict` */
export const decideDelete = (
  state: RecordState,
  entityName: string,
  { deletionId, ifVersion }: StartDeletion,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || state.entityName !== entityName) throw notFound();
  refuseVersion(state.version, ifVersion);
  return [{ type: 'RecordDeletionStarted', data: { ...baseOf(state), deletion_id: deletionId } }];
};

/** One attempt to delete a record with all that goes with it. */
export interface Attempt {
  readonly deletionId: string;
  /** The record whose deletion was asked for. */
  readonly rootId: string;
}

export const isPartOf = (state: RecordState, { deletionId }: Attempt): boolean =>
  (state.status === 'deleting' || state.status === 'deleted') && state.deletion.id === deletionId;

/** Takes a live record along that still points to `targetId`. */
export const markForDeletion = (
  state: RecordState,
  targetId: string,
  { deletionId, rootId }: Attempt,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || keysPointingTo(state, targetId).length === 0) return [];
  return [
    {
      type: 'RecordDeletionStarted',
      data: { ...baseOf(state), deletion_id: deletionId, cascade_of: rootId },
    },
  ];
};

const cascadeOf = ({ deletion }: DeletingRecord) =>
  deletion.cascadeOf === undefined ? {} : { cascade_of: deletion.cascadeOf };

/** Only what this very attempt holds comes back to life. */
export const abandonDeletion = (state: RecordState, deletionId: string): readonly RecordEvent[] => {
  if (state.status !== 'deleting' || state.deletion.id !== deletionId) return [];
  const data = { ...baseOf(state), deletion_id: deletionId, ...cascadeOf(state) };
  return [{ type: 'RecordDeletionAbandoned', data }];
};

export const finishDeletion = (state: RecordState, deletionId: string): readonly RecordEvent[] => {
  if (state.status !== 'deleting' || state.deletion.id !== deletionId) return [];
  const { values, version } = state;
  const data = { ...baseOf(state), deletion_id: deletionId, ...cascadeOf(state), values, version };
  return [{ type: 'RecordDeleted', data }];
};
