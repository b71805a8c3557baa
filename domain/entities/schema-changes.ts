import { DomainError, notFound } from '../errors.ts';
import { compareDecimals } from './decimal.ts';
import type { Field, Values } from './fields.ts';
import { isSame } from './json-values.ts';
import type { EntitySchema, SchemaDefinition, SchemaEvent, SchemaState } from './schema.ts';
import { checkValue } from './values.ts';

/** How a schema comes to be and changes (decisions, section 6, Schema; docs/decisions/0012-schema-changes-are-proposed.md). */

/** A rule that records of the old schema may break. */
export interface Tightening {
  readonly key: string;
  readonly message: string;
  readonly breaks: (values: Values) => boolean;
}

const isThere = (values: Values, key: string): boolean => Object.hasOwn(values, key);

/** What a change of fields asks of records that the old fields did not ask. */
export const tightenings = (before: readonly Field[], after: readonly Field[]): readonly Tightening[] => {
  const next = new Map(after.map((field) => [field.key, field]));
  const had = new Set(before.map(({ key }) => key));
  const found: Tightening[] = [];
  for (const old of before) {
    const field = next.get(old.key);
    const holds = (message: string): void => {
      found.push({ key: old.key, message, breaks: (values) => isThere(values, old.key) });
    };
    if (field === undefined) holds('Records hold values of this field.');
    else if (isOther(old, field)) {
      holds('Records hold values of this field: its type and its entity stay.');
      found.push(...demanded(field));
    } else found.push(...narrowed(old, field));
  }
  for (const field of after) if (!had.has(field.key)) found.push(...demanded(field));
  return found;
};

const isOther = (old: Field, field: Field): boolean =>
  field.type !== old.type || field.reference?.entity_name !== old.reference?.entity_name;

const demanded = (field: Field): Tightening[] =>
  field.required && field.default === undefined
    ? [
        {
          key: field.key,
          message: 'Records have no value for this field, which would be required.',
          breaks: (values) => !isThere(values, field.key),
        },
      ]
    : [];

/** Of the same type: fewer options, closer bounds, a value where there need not be one. */
const narrowed = (old: Field, field: Field): Tightening[] => {
  const bounds: Tightening = {
    key: field.key,
    message: 'Records hold values that this field would refuse.',
    breaks: (values) => {
      const value = values[field.key];
      return value !== undefined && isThere(values, field.key) && 'misfit' in checkValue(field, value);
    },
  };
  return [...(isNarrower(old, field) ? [bounds] : []), ...(old.required ? [] : demanded(field))];
};

const isNarrower = (old: Field, field: Field): boolean => {
  const options = new Set(field.options);
  return (
    old.options?.some((option) => !options.has(option)) === true ||
    isCloser(old.min, field.min, 1) ||
    isCloser(old.max, field.max, -1) ||
    isCloser(old.max_length, field.max_length, -1)
  );
};

/** @param direction in which a bound excludes more */
const isCloser = (
  old: number | string | undefined,
  bound: number | string | undefined,
  direction: 1 | -1,
): boolean =>
  bound !== undefined && (old === undefined || compareDecimals(String(bound), String(old)) * direction > 0);

/** The first rule that a record breaks. */
export const brokenBy = (rules: readonly Tightening[], values: Values): Tightening | undefined =>
  rules.find((rule) => rule.breaks(values));

export const inUse = ({ key, message }: { readonly key: string; readonly message: string }): DomainError =>
  new DomainError('in_use', message, { field: key });

// Commands

export interface ChangeEntity {
  readonly changeId: string;
  readonly label?: string | undefined;
  readonly fields?: readonly Field[] | undefined;
  readonly workflow?: string | null | undefined;
}

/** A change whose process died is in nobody's way after this long (ms). */
export const PROPOSAL_MS = 30_000;

// Decide

/** @throws `already_exists` */
export const defineEntity = (
  state: SchemaState,
  entity: { readonly name: string } & SchemaDefinition,
): readonly SchemaEvent[] => {
  if (state.exists) {
    throw new DomainError('already_exists', 'There is an entity of this name.', { field: 'name' });
  }
  const { name, label, fields, workflow } = entity;
  return [{ type: 'EntityDefined', data: { entity_name: name, label, fields: [...fields], workflow } }];
};

/** The definition as a change would leave it. */
export const changedDefinition = (schema: EntitySchema, change: ChangeEntity): SchemaDefinition => ({
  label: change.label ?? schema.label,
  fields: change.fields ?? schema.fields,
  workflow: change.workflow === undefined ? schema.workflow : change.workflow,
});

const dataOf = (schema: EntitySchema, { label, fields, workflow }: SchemaDefinition) => ({
  entity_name: schema.name,
  label,
  fields: [...fields],
  workflow,
});

const changed = (schema: EntitySchema, to: SchemaDefinition): SchemaEvent => ({
  type: 'EntityChanged',
  data: {
    ...dataOf(schema, to),
    workflow_attached: to.workflow !== null && to.workflow !== schema.workflow,
  },
});

/**
 * What asks nothing new of records is done at once; the rest is proposed, and settled by {@link settleChange}.
 * @throws `not_found`, `conflict` while another change is under way
 */
export const proposeChange = (
  state: SchemaState,
  change: ChangeEntity,
  now: number,
): readonly SchemaEvent[] => {
  if (!state.exists) throw notFound();
  const { proposal } = state;
  const abandoned: SchemaEvent[] = [];
  if (proposal !== undefined) {
    if (now - proposal.at < PROPOSAL_MS) {
      throw new DomainError('conflict', 'Another change of this entity is under way.');
    }
    abandoned.push(...settleChange(state, proposal.id, true));
  }
  const to = changedDefinition(state, change);
  // Both are plain JSON: what differs in nothing else is the same.
  if (
    isSame(JSON.parse(JSON.stringify(dataOf(state, state))), JSON.parse(JSON.stringify(dataOf(state, to))))
  ) {
    return abandoned;
  }
  if (tightenings(state.fields, to.fields).length === 0) return [...abandoned, changed(state, to)];
  const proposed: SchemaEvent = {
    type: 'EntityChangeProposed',
    data: { ...dataOf(state, to), change_id: change.changeId },
  };
  return [...abandoned, proposed];
};

/**
 * @param isBroken a stored record stands against the change
 * @throws `conflict` when the proposal is no more
 */
export const settleChange = (
  state: SchemaState,
  changeId: string,
  isBroken: boolean,
): readonly SchemaEvent[] => {
  if (!state.exists || state.proposal?.id !== changeId) {
    if (isBroken) return [];
    throw new DomainError('conflict', 'The change took too long and was given up. Try again.');
  }
  return isBroken
    ? [{ type: 'EntityChangeAbandoned', data: { entity_name: state.name, change_id: changeId } }]
    : [changed(state, state.proposal)];
};
