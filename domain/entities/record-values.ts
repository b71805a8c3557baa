import { isSameJson } from '../core/canonical-json.ts';
import { DomainError, type FieldIssue, invalid, MAX_ISSUES, notFound } from '../core/errors.ts';
import { decided } from '../core/event.ts';
import { jsonBytes } from '../core/text.ts';
import type { Field, FieldType, JsonValue, Types, Values } from './fields.ts';
import { type JobStart, RecordCreated, type RecordEvent, type RecordState, RecordUpdated } from './record.ts';
import { brokenBy, tightenings } from './tightenings.ts';
import { checkValue, type Misfit } from './values.ts';

/**
 * Checks a record's values against its entity's fields, then creates or updates the record (decisions, section 6,
 * Record). An answer lists all issues, up to {@link MAX_ISSUES}.
 */

/** A reference to a record or user that must exist. */
export interface Link {
  readonly fieldKey: string;
  readonly kind: 'reference' | 'user';
  readonly id: string;
  /** Set only for references to records. */
  readonly entityName: string | undefined;
}

export interface Resolved {
  /** All values after the change. */
  readonly values: Values;
  readonly types: Types;
  /** Keys of changed values. */
  readonly changed: readonly string[];
  /** Links among the changed values. */
  readonly links: readonly Link[];
  /** At most {@link MAX_ISSUES} for the input, then one for each missing required field; unknown keys are truncated. */
  readonly misfits: readonly (Misfit & { readonly key: string })[];
}

/** Values from the caller; null means no value. */
export type Input = Readonly<Record<string, unknown>>;

const MISSING: Misfit = {
  kind: 'type',
  code: 'missing_required',
  message: 'This field must have a value.',
};
const UNKNOWN: Misfit = { kind: 'type', code: 'unknown_field', message: 'The entity has no such field.' };

/** Length at which issues truncate an unknown key; greater than the length of any field's key. */
const MAX_KEY = 100;

const KEYED = new WeakMap<readonly Field[], ReadonlyMap<string, Field>>();

/** Cached, because many records share the same fields. */
const keyed = (fields: readonly Field[]): ReadonlyMap<string, Field> => {
  const known = KEYED.get(fields) ?? new Map(fields.map((field) => [field.key, field]));
  KEYED.set(fields, known);
  return known;
};

/** @param before the record's values; undefined for a new record, which gets defaults */
export const resolve = (fields: readonly Field[], before: Values | undefined, input: Input): Resolved => {
  const byKey = keyed(fields);
  const misfits: (Misfit & { key: string })[] = [];
  const values = new Map<string, JsonValue>(Object.entries(before ?? {}));
  for (const [key, given] of Object.entries(input)) {
    const field = byKey.get(key);
    // An answer lists at most this many issues.
    if (misfits.length >= MAX_ISSUES) break;
    if (field === undefined) misfits.push({ key: key.slice(0, MAX_KEY).toWellFormed(), ...UNKNOWN });
    else if (given === null || given === undefined || (given === '' && field.required)) {
      if (field.required && (before !== undefined || field.default === undefined)) {
        misfits.push({ key, ...MISSING });
      }
      values.delete(key);
    } else {
      const checked = checkValue(field, given);
      if ('misfit' in checked) misfits.push({ key, ...checked.misfit });
      else values.set(key, checked.value);
    }
  }
  if (before === undefined) {
    for (const { key, required, default: fallback } of fields) {
      // The caller may send null to leave an optional field empty.
      if (values.has(key) || (Object.hasOwn(input, key) && !required)) continue;
      if (fallback !== undefined) values.set(key, fallback);
      else if (required && !Object.hasOwn(input, key)) misfits.push({ key, ...MISSING });
    }
  }
  return outcome(byKey, before ?? {}, values, misfits);
};

const outcome = (
  byKey: ReadonlyMap<string, Field>,
  before: Values,
  after: ReadonlyMap<string, JsonValue>,
  misfits: Resolved['misfits'],
): Resolved => {
  // Field keys are names (fields.ts), so none of them is `__proto__`.
  const values: Record<string, JsonValue> = {};
  const types: Record<string, FieldType> = {};
  const changed: string[] = [];
  const links: Link[] = [];
  for (const [key, value] of after) {
    const field = byKey.get(key);
    // Drops values of fields that the schema no longer has.
    if (field === undefined) continue;
    values[key] = value;
    types[key] = field.type;
    if (Object.hasOwn(before, key) && isSameJson(before[key], value)) continue;
    changed.push(key);
    if ((field.type === 'reference' || field.type === 'user') && typeof value === 'string') {
      links.push({ fieldKey: key, kind: field.type, id: value, entityName: field.reference?.entity_name });
    }
  }
  for (const key of Object.keys(before)) if (!after.has(key)) changed.push(key);
  return { values, types, changed, links, misfits };
};

/** A `constraint_violated` with the first {@link MAX_ISSUES} issues (decisions, section 2). */
export const constraintViolated = (issues: readonly FieldIssue[]): DomainError =>
  new DomainError('constraint_violated', issues[0]?.message ?? 'A constraint is violated.', {
    field: issues[0]?.path ?? '',
    issues: issues.slice(0, MAX_ISSUES),
  });

export const hasWrongTypes = ({ misfits }: Resolved): boolean => misfits.some(({ kind }) => kind === 'type');

/** Every issue; the path of a value is `values.<key>`. */
const allIssues = ({ misfits }: Resolved, missing: ReadonlySet<string>): FieldIssue[] => [
  ...misfits.map(({ key, code, message }) => ({ path: `values.${key}`, code, message })),
  ...[...missing].map((key) => ({
    path: `values.${key}`,
    code: 'reference_not_found',
    message: 'Nothing with this id exists.',
  })),
];

/**
 * @throws `validation_failed` with every issue, when a value has the wrong type
 * @param missing keys of links whose target does not exist
 */
export const checkTypes = (resolved: Resolved, missing: ReadonlySet<string>): void => {
  if (hasWrongTypes(resolved)) throw invalid(allIssues(resolved, missing));
};

/** @param missing keys of links whose target does not exist @throws `constraint_violated` with every issue */
const checkConstraints = (resolved: Resolved, missing: ReadonlySet<string>): void => {
  const issues = allIssues(resolved, missing);
  if (issues.length > 0) throw constraintViolated(issues);
};

// Commands

/** The schema that a decision uses. */
export interface SchemaView {
  readonly name: string;
  readonly fields: readonly Field[];
  /** Fields of a proposed change, if there is one. */
  readonly proposed: readonly Field[] | undefined;
  readonly revision: number;
}

/** Facts about links, from outside the record's stream. */
export interface LinkFacts {
  /** Keys of links whose target does not exist. */
  readonly missing: ReadonlySet<string>;
  /** Ids of the registrations in the targets' streams, by field key. */
  readonly registrations: Readonly<Record<string, string>>;
}

interface CreateRecord {
  readonly id: string;
  readonly values: Input;
  readonly createdBy: string;
  readonly job?: JobStart | undefined;
}

interface UpdateRecord {
  readonly values: Input;
  /** The version that the caller expects. */
  readonly ifVersion?: number | undefined;
}

const registered = ({ registrations }: LinkFacts) =>
  Object.keys(registrations).length === 0 ? {} : { registrations: { ...registrations } };

/**
 * Maximum bytes of a record's values and their types as JSON: 512 KiB per event less 4 KiB for the rest. The event of a
 * deletion also holds the values, with longer ids and metadata; a record whose event is refused would stay hidden.
 */
export const MAX_RECORD_BYTES = 508 * 1024;

/** @throws `payload_too_large` */
const requireSize = ({ values, types }: Resolved): void => {
  if (jsonBytes({ values, types }) <= MAX_RECORD_BYTES) return;
  const message = 'The record would become too large to be stored.';
  throw new DomainError('payload_too_large', message, { limit: MAX_RECORD_BYTES });
};

const checkProposed = ({ fields, proposed }: SchemaView, { values }: Resolved): void => {
  if (proposed === undefined || brokenBy(tightenings(fields, proposed), values) === undefined) return;
  throw new DomainError('conflict', 'The entity is being changed. Try again.');
};

/** @throws `conflict` when the record is not at version `ifVersion` */
export const checkVersion = (version: number, ifVersion: number | undefined): void => {
  if (ifVersion === undefined || ifVersion === version) return;
  throw new DomainError('conflict', 'The record was changed in the meantime. Read it again, then retry.', {
    version,
  });
};

/**
 * @param known values that the caller has already resolved for the schema's fields
 * @throws `validation_failed`, `constraint_violated`, each with every issue; `conflict`, `payload_too_large`
 */
export const createRecord = (
  state: RecordState,
  schema: SchemaView,
  command: CreateRecord,
  facts: LinkFacts,
  known?: Resolved,
): readonly RecordEvent[] => {
  if (state.status !== 'none') throw new DomainError('conflict', 'A record with this id already exists.');
  const resolved = known ?? resolve(schema.fields, undefined, command.values);
  checkTypes(resolved, facts.missing);
  checkConstraints(resolved, facts.missing);
  checkProposed(schema, resolved);
  requireSize(resolved);
  const { id, createdBy, job } = command;
  return decided(RecordCreated, {
    record_id: id,
    entity_name: schema.name,
    values: resolved.values,
    types: resolved.types,
    schema_revision: schema.revision,
    ...registered(facts),
    created_by: createdBy,
    job,
  });
};

/**
 * Returns no events when no value changes.
 * @param known values that the caller has already resolved for this state and the schema's fields
 * @throws `not_found`, `validation_failed`, `conflict`, `constraint_violated`, `payload_too_large`
 */
export const updateRecord = (
  state: RecordState,
  schema: SchemaView,
  command: UpdateRecord,
  facts: LinkFacts,
  known?: Resolved,
): readonly RecordEvent[] => {
  if (state.status !== 'live' || state.entityName !== schema.name) throw notFound();
  const resolved = known ?? resolve(schema.fields, state.values, command.values);
  checkTypes(resolved, facts.missing);
  checkVersion(state.version, command.ifVersion);
  checkConstraints(resolved, facts.missing);
  if (resolved.changed.length === 0) return [];
  checkProposed(schema, resolved);
  requireSize(resolved);
  return decided(RecordUpdated, {
    record_id: state.id,
    entity_name: state.entityName,
    values: resolved.values,
    types: resolved.types,
    changed: [...resolved.changed],
    version: state.version + 1,
    ...registered(facts),
    schema_revision: schema.revision,
  });
};
