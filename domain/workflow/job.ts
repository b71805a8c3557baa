import { DomainError, notFound } from '../core/errors.ts';
import { decided } from '../core/event.ts';
import type { JsonValue } from '../entities/fields.ts';
import {
  JobOverridden,
  type JobStart,
  JobStarted,
  type JobState,
  JobTransitioned,
  type LiveRecord,
  type RecordEvent,
  type RecordState,
} from '../entities/record.ts';
import { holds } from '../expressions/guard.ts';
import type { FieldSpecs } from '../expressions/tree.ts';
import type { Edge, Machine } from './machine.ts';

/**
 * Moves of a job: transitions by event and overrides by admins (decisions, section 6, Job). A job is part of its
 * record's stream, so that guards see the record's values at the same revision.
 */

/** A record that has a job. */
export type RecordWithJob = LiveRecord & { readonly job: JobState };

/** Facts for checking a move, in addition to the record. */
export interface Surroundings {
  /** The workflow, in the version that the job runs. */
  readonly machine: Machine;
  /** Fields of the record's entity. */
  readonly fields: FieldSpecs;
  readonly actor: { readonly id: string; readonly role: 'admin' | 'operator' };
  /** ms */
  readonly now: number;
}

export interface TransitionCommand {
  readonly eventName: string;
  readonly payload?: Readonly<Record<string, JsonValue>> | undefined;
  readonly expectedState?: string | undefined;
  /** The job's version when the request arrived; undefined for rows of bulk sessions, which accept any version. */
  readonly seenVersion?: number | undefined;
}

export interface OverrideCommand {
  readonly toState: string;
  readonly reason: string;
  readonly seenVersion?: number | undefined;
}

export type Verdict =
  | { readonly kind: 'moves'; readonly edge: Edge }
  | { readonly kind: 'role_not_admitted' }
  | { readonly kind: 'lost_race'; readonly state: string }
  | { readonly kind: 'unexpected_state'; readonly state: string }
  | { readonly kind: 'no_transition'; readonly state: string; readonly allowed: readonly string[] }
  | { readonly kind: 'fields_missing'; readonly keys: readonly string[] }
  | { readonly kind: 'guard_rejected'; readonly from: string; readonly to: string; readonly guard: string };

export type Refusal = Exclude<Verdict, { kind: 'moves' }>;

/** @throws `not_found` for a record that is deleted, being deleted, or without a job */
export const withJob = (state: RecordState): RecordWithJob => {
  if (state.status !== 'live' || state.job === undefined) throw notFound();
  return { ...state, job: state.job };
};

const admits = ({ transition }: Edge, role: 'admin' | 'operator'): boolean =>
  transition.roles === undefined || transition.roles.includes(role);

const passes = (
  { guard }: Edge,
  { values, job }: RecordWithJob,
  { fields, actor, now }: Surroundings,
  payload: Readonly<Record<string, JsonValue>>,
): boolean => {
  if (guard === undefined) return true;
  if (guard === 'broken') return false;
  return holds(guard, { record: values, fields, state: job.state, actor, payload, now });
};

/** Empty: no value, an empty list or object, or a blank text. */
const isEmpty = (value: JsonValue | undefined): boolean => {
  if (value === undefined || value === null) return true;
  if (typeof value === 'string') return value.trim() === '';
  return typeof value === 'object' && Object.keys(value).length === 0;
};

/** Events that the actor can use now: role allowed, guard true without a payload. Required fields are not checked. */
export const allowedEvents = (record: RecordWithJob, surroundings: Surroundings): readonly string[] =>
  [...surroundings.machine.edgesFrom(record.job.state)]
    .filter(([, edge]) => admits(edge, surroundings.actor.role) && passes(edge, record, surroundings, {}))
    .map(([eventName]) => eventName);

/** Checks a transition without applying it; previews of bulk sessions also use this check. */
export const checkTransition = (
  record: RecordWithJob,
  command: TransitionCommand,
  surroundings: Surroundings,
): Verdict => {
  const { job, values } = record;
  const { machine, actor } = surroundings;
  const edge = machine.edgesFrom(job.state).get(command.eventName);
  if (edge !== undefined && !admits(edge, actor.role)) return { kind: 'role_not_admitted' };
  if (command.seenVersion !== undefined && command.seenVersion !== job.version) {
    return { kind: 'lost_race', state: job.state };
  }
  if (command.expectedState !== undefined && command.expectedState !== job.state) {
    return { kind: 'unexpected_state', state: job.state };
  }
  if (edge === undefined) {
    return { kind: 'no_transition', state: job.state, allowed: allowedEvents(record, surroundings) };
  }
  const { required_fields = [], guard = '', guard_label: label = guard } = edge.transition;
  const keys = required_fields.filter((key) => isEmpty(Object.hasOwn(values, key) ? values[key] : undefined));
  if (keys.length > 0) return { kind: 'fields_missing', keys };
  if (!passes(edge, record, surroundings, command.payload ?? {})) {
    return { kind: 'guard_rejected', from: job.state, to: edge.to, guard: label };
  }
  return { kind: 'moves', edge };
};

export const refusalError = (refusal: Refusal): DomainError => {
  switch (refusal.kind) {
    case 'role_not_admitted':
      return new DomainError('forbidden', 'Your role may not make this transition.');
    case 'lost_race':
      return lostRace(refusal.state);
    case 'unexpected_state':
      return new DomainError('conflict', 'The job is in another state.', { state: refusal.state });
    case 'no_transition': {
      const { state, allowed } = refusal;
      const message = 'The current state has no such transition.';
      return new DomainError('invalid_transition', message, { state, allowed });
    }
    case 'fields_missing':
      return new DomainError('constraint_violated', 'Fields that this transition needs are empty.', {
        issues: refusal.keys.map((key) => ({
          path: `values.${key}`,
          code: 'required',
          message: `${key} must not be empty.`,
        })),
      });
    case 'guard_rejected': {
      const { from, to, guard } = refusal;
      const message = 'The guard of this transition does not hold.';
      return new DomainError('guard_rejected', message, { from, to, guard });
    }
    default:
      return refusal satisfies never;
  }
};

const lostRace = (state: string): DomainError =>
  new DomainError('conflict', 'Another request moved the job at the same time.', { state });

/** The event of a transition that {@link checkTransition} allows. */
export const transitioned = (
  record: RecordWithJob,
  command: TransitionCommand,
  edge: Edge,
  role: 'admin' | 'operator',
): readonly RecordEvent[] =>
  decided(JobTransitioned, {
    ...baseOf(record),
    from_state: record.job.state,
    to_state: edge.to,
    event_name: command.eventName,
    payload: command.payload,
    role,
  });

const baseOf = ({ id, entityName, job }: RecordWithJob) => ({
  record_id: id,
  entity_name: entityName,
  workflow: job.workflow,
  workflow_version: job.workflow_version,
});

/** Starts a job for a record whose entity got a workflow later; no events for a record that has a job or is deleted. */
export const startJob = (state: RecordState, job: JobStart): readonly RecordEvent[] => {
  if (state.status === 'none' || state.status === 'deleted' || state.job !== undefined) return [];
  return decided(JobStarted, { record_id: state.id, entity_name: state.entityName, ...job });
};

/**
 * Moves a job to any other state of its workflow version, even from a final state; ignores guards, roles and required
 * fields.
 * @throws `not_found`, `conflict`, `invalid_transition`
 */
export const overrideJob = (
  state: RecordState,
  { toState, reason, seenVersion }: OverrideCommand,
  machine: Machine,
): readonly RecordEvent[] => {
  const record = withJob(state);
  const { job } = record;
  if (seenVersion !== undefined && seenVersion !== job.version) throw lostRace(job.state);
  if (toState === job.state || !machine.hasState(toState)) {
    throw new DomainError('invalid_transition', 'This is not another state of the job’s workflow.', {
      state: job.state,
      allowed: machine.definition.states.map(({ key }) => key).filter((key) => key !== job.state),
    });
  }
  return decided(JobOverridden, { ...baseOf(record), from_state: job.state, to_state: toState, reason });
};
