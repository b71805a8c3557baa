import type { Decider } from '../decider.ts';
import type { EventMeta } from '../event.ts';
import type { Types, Values } from './fields.ts';
import type { RecordEvent } from './record-events.ts';

/** A record: its values, its job and state, and what its deletion must know (design, Consistency boundaries). */

/** A job's id is its record's. Its history is in the stream and in the read model, not here. */
export interface JobState {
  readonly workflow: string;
  readonly workflow_version: number;
  readonly state: string;
  /** Counts its states, from 1: each transition and override adds one. */
  readonly version: number;
  /** ms */
  readonly startedAt: number;
  /** When it came into its state, ms. */
  readonly movedAt: number;
}

/** A referrer that was about to be written; kept until it is known to be, or never to be. */
export interface Registration {
  readonly id: string;
  readonly referrer: {
    readonly record_id: string;
    readonly entity_name: string;
    readonly field_key: string;
  };
  /** ms */
  readonly at: number;
}

export interface Deletion {
  readonly id: string;
  /** The record whose deletion takes this one along; undefined for the one that was asked for. */
  readonly cascadeOf: string | undefined;
  /** ms */
  readonly startedAt: number;
}

interface Present {
  readonly id: string;
  readonly entityName: string;
  readonly values: Values;
  readonly types: Types;
  /** Counts changes of values and state, from 1. */
  readonly version: number;
  readonly job?: JobState | undefined;
  /** ms */
  readonly createdAt: number;
  /** ms */
  readonly updatedAt: number;
  readonly createdBy: string;
  /** By key of a reference field: the registration that its value was last written with. */
  readonly registrations: Readonly<Record<string, string>>;
  /** Whether anything ever pointed to it, or was about to. */
  readonly referenced: boolean;
  /** Bounded: whoever registers clears up when there are many. */
  readonly pending: readonly Registration[];
  /** Registrations that must not be counted on any more, the latest few. */
  readonly barred: readonly string[];
}

export interface LiveRecord extends Present {
  readonly status: 'live';
}
export interface DeletingRecord extends Present {
  readonly status: 'deleting';
  readonly deletion: Deletion;
}
export interface DeletedRecord {
  readonly status: 'deleted';
  readonly id: string;
  readonly entityName: string;
  readonly version: number;
  readonly deletion: Deletion;
  readonly referenced: boolean;
}
export interface NoRecord {
  readonly status: 'none';
  readonly barred: readonly string[];
}
export type RecordState = NoRecord | LiveRecord | DeletingRecord | DeletedRecord;

const MAX_BARRED = 64;

const startedJob = (
  job: Pick<JobState, 'workflow' | 'workflow_version' | 'state'>,
  { at }: EventMeta,
): JobState => ({ ...job, version: 1, startedAt: at, movedAt: at });

const evolve = (state: RecordState, event: RecordEvent, meta: EventMeta): RecordState => {
  if (event.type === 'RecordCreated') {
    const { record_id, entity_name, values, types, created_by, job, registrations = {} } = event.data;
    return {
      status: 'live',
      id: record_id,
      entityName: entity_name,
      values,
      types,
      version: 1,
      ...(job === undefined ? {} : { job: startedJob(job, meta) }),
      createdAt: meta.at,
      updatedAt: meta.at,
      createdBy: created_by,
      registrations,
      referenced: false,
      pending: [],
      barred: state.status === 'none' ? state.barred : [],
    };
  }
  if (event.type === 'ReferenceBarred' && state.status !== 'deleted') {
    return { ...state, barred: [...state.barred, event.data.registration_id].slice(-MAX_BARRED) };
  }
  return state.status === 'none' || state.status === 'deleted' ? state : evolvePresent(state, event, meta);
};

const evolvePresent = (
  state: LiveRecord | DeletingRecord,
  event: Exclude<RecordEvent, { type: 'RecordCreated' }>,
  meta: EventMeta,
): RecordState => {
  switch (event.type) {
    case 'RecordUpdated': {
      const { values, types, version, registrations = {} } = event.data;
      const all = { ...state.registrations, ...registrations };
      // Of fields that have no value any more nothing need be known.
      const kept = Object.fromEntries(Object.entries(all).filter(([key]) => Object.hasOwn(values, key)));
      return { ...state, values, types, version, registrations: kept, updatedAt: meta.at };
    }
    case 'RecordDeletionStarted': {
      const { deletion_id: id, cascade_of: cascadeOf } = event.data;
      return { ...state, status: 'deleting', deletion: { id, cascadeOf, startedAt: meta.at } };
    }
    case 'RecordDeletionAbandoned': {
      const { deletion: _ended, ...rest } = { deletion: undefined, ...state };
      return { ...rest, status: 'live' };
    }
    case 'RecordDeleted': {
      const { record_id, entity_name, version, deletion_id, cascade_of } = event.data;
      const deletion = { id: deletion_id, cascadeOf: cascade_of, startedAt: meta.at };
      const { referenced } = state;
      return { status: 'deleted', id: record_id, entityName: entity_name, version, deletion, referenced };
    }
    case 'ReferenceRegistered': {
      const { registration_id: id, referrer } = event.data;
      return { ...state, referenced: true, pending: [...state.pending, { id, referrer, at: meta.at }] };
    }
    case 'ReferenceReleased': {
      const released = new Set(event.data.registration_ids);
      return { ...state, pending: state.pending.filter(({ id }) => !released.has(id)) };
    }
    case 'JobStarted': {
      const { workflow, workflow_version, state: initial } = event.data;
      const job = startedJob({ workflow, workflow_version, state: initial }, meta);
      return { ...state, job, version: state.version + 1, updatedAt: meta.at };
    }
    case 'JobTransitioned':
    case 'JobOverridden': {
      if (state.job === undefined) return state;
      const { to_state } = event.data;
      const job = { ...state.job, state: to_state, version: state.job.version + 1, movedAt: meta.at };
      return { ...state, job, version: state.version + 1, updatedAt: meta.at };
    }
    case 'ReferenceBarred':
    case 'NoteAdded':
      return state;
    default:
      return event satisfies never;
  }
};

/**
 * An update says all values anew, but for what references were registered with: that stays known from one to the next.
 * No text within a value can look like the name of a member: its quotes are escaped.
 */
const isSuperseded: Decider<RecordState, RecordEvent>['isSuperseded'] = (state, { type, data }, next) => {
  if (type !== 'RecordUpdated' || next.type !== 'RecordUpdated') return false;
  if (state.status !== 'live' && state.status !== 'deleting') return false;
  return Object.keys(state.registrations).length === 0 && !data.includes('"registrations":');
};

export const recordDecider: Decider<RecordState, RecordEvent> = {
  category: 'record',
  stateVersion: 1,
  initial: { status: 'none', barred: [] },
  evolve,
  isSuperseded,
};
