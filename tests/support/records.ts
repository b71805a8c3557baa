import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { TestRecord } from './uploads.ts';
import type { TestTenant } from './world.ts';

/** Records for tests of other features. */

const ENTITIES = '/api/v1/tenant/entities';
const withId = z.looseObject({ id: z.string() });

export const newEntity = async (
  tenant: TestTenant,
  name = `thing_${randomUUID().slice(0, 8)}`,
): Promise<string> => {
  const fields = [{ key: 'title', label: 'Title', type: 'text', required: false }];
  (await tenant.admin.api.post(ENTITIES, { name, label: 'A thing', fields })).as(z.looseObject({}), 201);
  return name;
};

export const newRecord = async (tenant: TestTenant, entity?: string): Promise<TestRecord> => {
  const name = entity ?? (await newEntity(tenant));
  const answer = await tenant.admin.api.post(`${ENTITIES}/${name}/records`, { values: { title: 'One' } });
  return { entity: name, id: answer.as(withId, 201).id };
};

export const deleteRecord = async (tenant: TestTenant, { entity, id }: TestRecord): Promise<void> => {
  const answer = await tenant.admin.api.delete(`${ENTITIES}/${entity}/records/${id}`);
  if (answer.status !== 204) throw new Error(`the record was not deleted: ${answer.status} ${answer.text}`);
};
