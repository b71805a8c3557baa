import { z } from 'zod';
import { isSameJson } from '../core/canonical-json.ts';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type Changes, folded, onlyIn, type StreamType } from '../core/stream-type.ts';
import { type Field, storedField } from './fields.ts';
import { tightenings } from './tightenings.ts';

/** The schema of an entity (decisions, section 6). Its stream is `schema-<name>`. */

// Events

const definition = {
  entity_name: z.string(),
  label: z.string(),
  fields: z.array(storedField),
  /** Workflow of the records' jobs; null when the records have no jobs. */
  workflow: z.string().nullable(),
};

export const EntityDefined = defineEvent('EntityDefined', z.object(definition));

/**
 * A change with rules that stored records could break. After this event, writes must satisfy the old and the new rules.
 * The stored records are checked next (decision 12).
 */
export const EntityChangeProposed = defineEvent(
  'EntityChangeProposed',
  z.object({ ...definition, change_id: z.string() }),
);

export const EntityChanged = defineEvent(
  'EntityChanged',
  z.object({
    ...definition,
    /** True when the entity gets a new workflow: records without a job then get a job. */
    workflow_attached: z.boolean(),
  }),
);

/** Stored records break a rule of the proposed change, or the proposal expired. */
export const EntityChangeAbandoned = defineEvent(
  'EntityChangeAbandoned',
  z.object({ entity_name: z.string(), change_id: z.string() }),
);

export const schemaEvents = [
  EntityDefined,
  EntityChangeProposed,
  EntityChanged,
  EntityChangeAbandoned,
] as const;
export type SchemaEvent = EventOf<(typeof schemaEvents)[number]>;

// State

export interface SchemaDefinition {
  readonly label: string;
  readonly fields: readonly Field[];
  readonly workflow: string | null;
}

interface Proposal extends SchemaDefinition {
  readonly id: string;
  /** ms */
  readonly at: number;
}

export interface EntitySchema extends SchemaDefinition {
  readonly exists: true;
  readonly name: string;
  /** Set during a change: writes must satisfy the old and the new rules. */
  readonly proposal?: Proposal | undefined;
  /** ms */
  readonly createdAt: number;
  /** ms */
  readonly updatedAt: number;
}
export type SchemaState = { readonly exists: false } | EntitySchema;

const onSchema = onlyIn((state: SchemaState): state is EntitySchema => state.exists);

export const schemaStream: StreamType<SchemaState, SchemaEvent> = {
  category: 'schema',
  stateVersion: 1,
  initial: { exists: false },
  evolve: folded({
    EntityDefined: (_state, { entity_name: name, ...definition }, { at }) => ({
      exists: true,
      name,
      ...definition,
      createdAt: at,
      updatedAt: at,
    }),
    EntityChangeProposed: onSchema((state, { entity_name: _name, change_id: id, ...definition }, { at }) => ({
      ...state,
      proposal: { id, ...definition, at },
    })),
    EntityChanged: onSchema((state, { label, fields, workflow }, { at }) => ({
      ...state,
      label,
      fields,
      workflow,
      proposal: undefined,
      updatedAt: at,
    })),
    EntityChangeAbandoned: onSchema((state) => ({ ...state, proposal: undefined })),
  }),
};

// Commands

export interface ChangeEntity extends Changes<SchemaDefinition> {
  readonly changeId: string;
}

/** A proposal expires after this time (ms), in case the process that made it crashed. */
export const PROPOSAL_MS = 30_000;

// Decide

/** @throws `already_exists` */
export const defineEntity = (
  state: SchemaState,
  entity: { readonly name: string } & SchemaDefinition,
): readonly SchemaEvent[] => {
  if (state.exists) {
    throw new DomainError('already_exists', 'An entity with this name already exists.', { field: 'name' });
  }
  return decided(EntityDefined, dataOf(entity, entity));
};

export const changedDefinition = (schema: EntitySchema, change: ChangeEntity): SchemaDefinition => ({
  label: change.label ?? schema.label,
  fields: change.fields ?? schema.fields,
  workflow: change.workflow === undefined ? schema.workflow : change.workflow,
});

const dataOf = ({ name }: { readonly name: string }, { label, fields, workflow }: SchemaDefinition) => ({
  entity_name: name,
  label,
  fields: [...fields],
  workflow,
});

const changed = (schema: EntitySchema, to: SchemaDefinition): readonly SchemaEvent[] =>
  decided(EntityChanged, {
    ...dataOf(schema, to),
    workflow_attached: to.workflow !== null && to.workflow !== schema.workflow,
  });

/**
 * Applies a change that adds no rule for records; proposes any other change, which {@link settleChange} settles.
 * @throws `not_found`, `conflict` while another change is under way
 */
export const proposeChange = (
  state: SchemaState,
  change: ChangeEntity,
  now: number,
): readonly SchemaEvent[] => {
  if (!state.exists) throw notFound();
  const { proposal } = state;
  if (proposal !== undefined && now - proposal.at < PROPOSAL_MS) {
    throw new DomainError('conflict', 'Another change of this entity is in progress. Try again later.');
  }
  const abandoned = proposal === undefined ? [] : settleChange(state, proposal.id, true);
  const to = changedDefinition(state, change);
  if (isSameJson(dataOf(state, state), dataOf(state, to))) return abandoned;
  if (tightenings(state.fields, to.fields).length === 0) return [...abandoned, ...changed(state, to)];
  const proposed = { ...dataOf(state, to), change_id: change.changeId };
  return [...abandoned, ...decided(EntityChangeProposed, proposed)];
};

/**
 * Applies or abandons a proposed change.
 * @param isBroken whether a stored record breaks a rule of the proposal
 * @throws `conflict` when the proposal should be applied but has ended
 */
export const settleChange = (
  state: SchemaState,
  changeId: string,
  isBroken: boolean,
): readonly SchemaEvent[] => {
  if (!state.exists || state.proposal?.id !== changeId) {
    if (isBroken) return [];
    throw new DomainError('conflict', 'The change took too long and was cancelled. Try again.');
  }
  return isBroken
    ? decided(EntityChangeAbandoned, { entity_name: state.name, change_id: changeId })
    : changed(state, state.proposal);
};

export const inUse = ({ key, message }: { readonly key: string; readonly message: string }): DomainError =>
  new DomainError('in_use', message, { field: key });
