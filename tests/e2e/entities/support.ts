import { z } from 'zod';
import type { Options } from '../../support/client.ts';
import { randomName } from '../../support/server.ts';
import { uuid } from '../../support/shapes.ts';
import { bossAndAda } from '../../support/suite.ts';
import type { Member } from '../../support/world.ts';

/** The API of entities, records and notes; strict, to detect additional keys. */

export const ENTITIES = '/api/v1/tenant/entities';

const instant = z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);

const field = z.strictObject({
  key: z.string(),
  label: z.string(),
  type: z.string(),
  required: z.boolean(),
  options: z.array(z.string()).optional(),
  default: z.unknown().optional(),
  min: z.union([z.number(), z.string()]).optional(),
  max: z.union([z.number(), z.string()]).optional(),
  max_length: z.number().optional(),
  reference: z.strictObject({ entity_name: z.string(), on_delete: z.string() }).optional(),
});

export const entity = z.strictObject({
  name: z.string(),
  label: z.string(),
  fields: z.array(field),
  workflow: z.string().nullable(),
  created_at: instant,
  updated_at: instant,
});
export const entities = z.array(entity);

export const record = z.strictObject({
  id: uuid,
  entity_name: z.string(),
  values: z.record(z.string(), z.unknown()),
  state: z.string().nullable(),
  job_id: uuid.nullable(),
  version: z.int().positive(),
  created_at: instant,
  updated_at: instant,
  created_by: z.string(),
});
export const records = z.array(record);
export type Record = z.output<typeof record>;

export const note = z.strictObject({
  id: uuid,
  body: z.string(),
  author_user_id: z.string().nullable(),
  author: z.strictObject({ kind: z.string(), id: z.string() }),
  created_at: instant,
});
export const notes = z.array(note);

const refused = z.object({
  error: z.string(),
  details: z.object({
    field: z.string(),
    issues: z.array(z.object({ path: z.string(), code: z.string(), message: z.string() })),
  }),
});

/** The issues of a 400 or 422, as `path code`. */
export const issuesOf = (json: unknown): string[] =>
  refused
    .parse(json)
    .details.issues.map(({ path, code }) => `${path} ${code}`)
    .sort();

export type FieldInput = { readonly key: string; readonly type: string } & Readonly<{
  [key: string]: unknown;
}>;

export const fieldsOf = (...fields: readonly FieldInput[]) =>
  fields.map((each) => ({ label: each.key, required: false, ...each }));

/** Defines an entity under a unique name; returns the name. */
export const define = async (admin: Member, ...fields: readonly FieldInput[]): Promise<string> => {
  const name = randomName('e');
  const answer = await admin.api.post(ENTITIES, { name, label: 'An entity', fields: fieldsOf(...fields) });
  answer.as(entity, 201);
  return name;
};

/** A tenant's admin, the operator Ada, and the entity `task` with fields of many types. */
export const adaWithTasks = async () => {
  const { boss: admin, ...rest } = await bossAndAda();
  const task = await define(
    admin,
    { key: 'title', type: 'text', required: true, max_length: 20 },
    { key: 'size', type: 'integer', min: 0, max: 10 },
    { key: 'price', type: 'decimal' },
    { key: 'status', type: 'enum', options: ['open', 'done'], required: true, default: 'open' },
    { key: 'extra', type: 'json' },
    { key: 'owner', type: 'user' },
    { key: 'at', type: 'datetime' },
  );
  return { ...rest, admin, task };
};

export const at = (name: string, id?: string): string =>
  `${ENTITIES}/${name}/records${id === undefined ? '' : `/${id}`}`;

export const create = async (
  who: Member,
  name: string,
  values: { readonly [key: string]: unknown } = {},
): Promise<Record> => (await who.api.post(at(name), { values })).as(record, 201);

export const read = async (who: Member, { entity_name, id }: Pick<Record, 'entity_name' | 'id'>) =>
  (await who.api.get(at(entity_name, id))).as(record);

export const change = (
  who: Member,
  { entity_name, id }: Pick<Record, 'entity_name' | 'id'>,
  values: unknown,
  options?: Options,
) => who.api.patch(at(entity_name, id), { values }, options);

export const remove = (
  who: Member,
  { entity_name, id }: Pick<Record, 'entity_name' | 'id'>,
  options?: Options,
) => who.api.delete(at(entity_name, id), options);

/** A reference field. */
export const pointing = (
  key: string,
  entityName: string,
  onDelete: string,
  more: { readonly [key: string]: unknown } = {},
): FieldInput => ({
  key,
  type: 'reference',
  reference: { entity_name: entityName, on_delete: onDelete },
  ...more,
});
