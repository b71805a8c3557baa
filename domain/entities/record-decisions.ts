import { DomainError, notFound } from '../errors.ts';
import type { Field } from './fields.ts';
import type { RecordState } from './record.ts';
import type { RecordEvent } from './record-events.ts';
import { type Input, type Resolved, refuseConstraints, refuseTypes, resolve } from './record-values.ts';
import { brokenBy, tightenings } from './schema-changes.ts';

/** Creating and changing a record (decisions, section 6). Pure: a preview is a decision that nobody appends. */

/** The schema that a decision is made against. */
export interface SchemaView {
  readonly name: string;
  readonly fields: readonly Field[];
  /** The fields of a change under way. */
  readonly proposed: readonly Field[] | undefined;
  readonly revision: number;
}

/** What was found out beside the record's own stream. */
export interface LinkFacts {
  /** Keys of links whose other end is not there. */
  readonly missing: ReadonlySet<string>;
  /** By field key: what was registered at the target. */
  readonly registrations: Readonly<Record<string, string>>;
}

export interface CreateRecord {
  readonly id: string;
  readonly values: Input;
  readonly createdBy: string;
  readonly job?:
    | { readonly workflow: string; readonly workflow_version: number; readonly state: string }
    | undefined;
}

export interface UpdateRecord {
  readonly values: Input;
  /** Of `If-Match`. */
  readonly ifVersion?: number | undefined;
}

const registered = ({ registrations }: LinkFacts) =>
  Object.keys(registrations).length === 0 ? {} : { registrations: { ...registrations } };

const refuseProposed = ({ fields, proposed }: SchemaView, { values }: Resolved): void => {
  if (proposed === undefined || brokenBy(tightenings(fields, proposed), values) === undefined) return;
  throw new DomainError('conflict', 'The entity is being changed at this moment. Try again.');
};

/** @throws `conflict` when the record is at another version */
export const refuseVersion = (version: number, ifVersion: number | undefined): void => {
  if (ifVersion === undefined || ifVersion === version) return;
  throw new DomainError('conflict', 'The record has changed since.', { version });
};

/** @throws `validation_failed`, `constraint_violated`, each with every issue; `conflict` */
export const decideCreate = (
  state: RecordState,
  schema: SchemaView,
  command: CreateRecord,
  facts: LinkFacts,
): readonly RecordEvent[] => {
  if (state.status !== 'none') throw new DomainError('conflict', 'There is a record of this id.');
  const resolved = resolve(schema.fields, undefined, command.values);
  refuseTypes(resolved, facts.missing);
  refuseConstraints(resolved, facts.missing);
  refuseProposed(schema, resolved);
  const { id, createdBy, job } = command;
  return [
    {
      type: 'RecordCreated',
      data: {
        record_id: id,
        entity_name: schema.name,
        values: resolved.values,
        types: resolved.types,
        schema_revision: schema.revision,
        ...registered(facts),
        created_by: createdBy,
        ...(job === undefined ? {} : { job }),
      },
    },
  ];
};

/**
 * Equal values give no event.
 * @param known what the values come to, where the caller has found that out for this state and these fields already
 * @throws `not_found`, `validation_failed`, `conflict`, `constraint_violated`
 */
export const decideUpdate = (
  state: RecordState,
  schema: SchemaView,
  command: UpdateRecord,
  facts: LinkFacts,
  known?: Resolved,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || state.entityName !== schema.name) throw notFound();
  const resolved = known ?? resolve(schema.fields, state.values, command.values);
  refuseTypes(resolved, facts.missing);
  refuseVersion(state.version, command.ifVersion);
  refuseConstraints(resolved, facts.missing);
  if (resolved.changed.length === 0) return [];
  refuseProposed(schema, resolved);
  return [
    {
      type: 'RecordUpdated',
      data: {
        record_id: state.id,
        entity_name: state.entityName,
        values: resolved.values,
        types: resolved.types,
        changed: [...resolved.changed],
        version: state.version + 1,
        ...registered(facts),
        schema_revision: schema.revision,
      },
    },
  ];
};

/** A job for a record whose entity got a workflow later; nothing for one that has a job or is gone. */
export const decideJobStart = (
  state: RecordState,
  job: { readonly workflow: string; readonly workflow_version: number; readonly state: string },
): readonly RecordEvent[] => {
  if (state.status === 'none' || state.status === 'deleted' || state.job !== undefined) return [];
  return [{ type: 'JobStarted', data: { record_id: state.id, entity_name: state.entityName, ...job } }];
};
