import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { defineEvent, type EventMeta, type EventOf } from '../event.ts';
import { type Field, storedField } from './fields.ts';

/** The schema of an entity (decisions, section 6). Its stream is `schema-<name>`. */

// Events

const definition = {
  entity_name: z.string(),
  label: z.string(),
  fields: z.array(storedField),
  /** Whose jobs the records get; null for none. */
  workflow: z.string().nullable(),
};

export const EntityDefined = defineEvent('EntityDefined', z.object(definition));

/**
 * A change that stored records could stand against. From here on nothing is written that breaks it; then it is
 * looked whether anything stored does (docs/decisions/0012-schema-changes-are-proposed.md).
 */
export const EntityChangeProposed = defineEvent(
  'EntityChangeProposed',
  z.object({ ...definition, change_id: z.string() }),
);

export const EntityChanged = defineEvent(
  'EntityChanged',
  z.object({
    ...definition,
    /** The workflow is another one than before: records without a job get one. */
    workflow_attached: z.boolean(),
  }),
);

/** Stored records stand against what was proposed. */
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

export interface Proposal extends SchemaDefinition {
  readonly id: string;
  /** ms */
  readonly at: number;
}

export interface EntitySchema extends SchemaDefinition {
  readonly exists: true;
  readonly name: string;
  /** Under way: writers keep to both. */
  readonly proposal?: Proposal | undefined;
  /** ms */
  readonly createdAt: number;
  /** ms */
  readonly updatedAt: number;
}
export type SchemaState = { readonly exists: false } | EntitySchema;

const evolve = (state: SchemaState, event: SchemaEvent, meta: EventMeta): SchemaState => {
  if (event.type === 'EntityDefined') {
    const { entity_name: name, label, fields, workflow } = event.data;
    return { exists: true, name, label, fields, workflow, createdAt: meta.at, updatedAt: meta.at };
  }
  if (!state.exists) return state;
  switch (event.type) {
    case 'EntityChangeProposed': {
      const { change_id: id, label, fields, workflow } = event.data;
      return { ...state, proposal: { id, label, fields, workflow, at: meta.at } };
    }
    case 'EntityChanged': {
      const { label, fields, workflow } = event.data;
      return { ...state, label, fields, workflow, proposal: undefined, updatedAt: meta.at };
    }
    case 'EntityChangeAbandoned':
      return { ...state, proposal: undefined };
    default:
      return event satisfies never;
  }
};

export const schemaDecider: Decider<SchemaState, SchemaEvent> = {
  category: 'schema',
  stateVersion: 1,
  initial: { exists: false },
  evolve,
};
