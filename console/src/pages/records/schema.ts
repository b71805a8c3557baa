import type { Client, components } from '../../../../client/src/index.ts';
import { type Read, useRead } from '../../kit/index.ts';

export type Entity = components['schemas']['Entity'];
export type EntityField = Entity['fields'][number];
export type EntityRecord = components['schemas']['EntityRecord'];
export type Workflow = components['schemas']['Workflow'];

export const allEntities = (client: Client): Promise<readonly Entity[]> =>
  Array.fromAsync(client.items('/api/v1/tenant/entities', { params: { query: { limit: 200 } } }));

/** All entities, for lists and for the targets of references. */
export const useEntities = (): Read<readonly Entity[]> =>
  useRead(['entities', 'all'], allEntities, { stale: 30_000 });

export const useEntity = (name: string): Read<Entity> =>
  useRead(
    ['entities', 'one', name],
    (client, signal) => client.get('/api/v1/tenant/entities/{name}', { params: { path: { name } }, signal }),
    { stale: 30_000 },
  );

export const useWorkflow = (name: string | null | undefined): Read<Workflow> =>
  useRead(
    ['workflows', 'one', name ?? ''],
    (client, signal) =>
      client.get('/api/v1/tenant/workflows/{name}', { params: { path: { name: name ?? '' } }, signal }),
    { stale: 30_000, enabled: typeof name === 'string' },
  );

export const recordPath = (entity: string, id: string): string =>
  `/records/${encodeURIComponent(entity)}/${encodeURIComponent(id)}`;

/** Title of a record: its first text that is not empty, required fields first; otherwise the id. */
export const titleOf = (fields: readonly EntityField[], { id, values }: EntityRecord): string => {
  const texts = fields.filter(({ type }) => type === 'text');
  for (const { key } of [...texts.filter(({ required }) => required), ...texts]) {
    const value = values[key];
    if (typeof value === 'string' && value.trim() !== '') return value.trim().slice(0, 120);
  }
  return id;
};
