import { ENTITIES } from '../workflow/support.ts';
import type { Attack } from './routes.ts';

const records = (entity: string, id?: string): string =>
  `${ENTITIES}/${entity}/records${id === undefined ? '' : `/${id}`}`;

/** Attacks on schemas, records and notes. `job` is also the id of the job's record. */
export const ENTITY_ROUTES: Readonly<Record<string, Attack>> = {
  'POST /api/v1/tenant/entities': ({ entity, tenant, workflow }) => {
    const reference = { entity_name: entity, on_delete: 'cascade' };
    const field = { key: 'a', label: 'A', type: 'reference', required: false, reference };
    const body = { name: 'taken', label: 'Taken', fields: [] };
    return [
      { method: 'POST', path: ENTITIES, body: { ...body, fields: [field] } },
      { method: 'POST', path: ENTITIES, body: { ...body, workflow } },
      { method: 'POST', path: ENTITIES, body: { ...body, tenant_id: tenant } },
    ];
  },
  'GET /api/v1/tenant/entities': ({ cursor, tenant }) => [
    { method: 'GET', path: `${ENTITIES}?cursor=${cursor}` },
    { method: 'GET', path: `${ENTITIES}?tenant=${tenant}` },
  ],
  'GET /api/v1/tenant/entities/{name}': ({ entity }) => [{ method: 'GET', path: `${ENTITIES}/${entity}` }],
  'PATCH /api/v1/tenant/entities/{name}': ({ entity, workflow }, own) => [
    { method: 'PATCH', path: `${ENTITIES}/${entity}`, body: { label: 'Taken' } },
    { method: 'PATCH', path: `${ENTITIES}/${entity}`, body: { fields: [] } },
    { method: 'PATCH', path: `${ENTITIES}/${own.entity}`, body: { workflow } },
  ],
  'POST /api/v1/tenant/entities/{name}/records': ({ entity, tenant }, own) => [
    { method: 'POST', path: records(entity), body: { values: { title: 'x' } } },
    { method: 'POST', path: records(own.entity), body: { values: { title: 'x' }, tenant_id: tenant } },
  ],
  'GET /api/v1/tenant/entities/{name}/records': ({ entity, job, cursor }, own) => [
    { method: 'GET', path: records(entity) },
    { method: 'GET', path: `${records(entity)}?filter=true` },
    { method: 'GET', path: `${records(own.entity)}?filter=${encodeURIComponent(`id == "${job}"`)}` },
    { method: 'GET', path: `${records(own.entity)}?cursor=${cursor}` },
  ],
  'GET /api/v1/tenant/entities/{name}/records/{id}': ({ entity, job }, own) => [
    { method: 'GET', path: records(entity, job) },
    { method: 'GET', path: records(own.entity, job) },
    { method: 'GET', path: records(entity, own.job) },
  ],
  'PATCH /api/v1/tenant/entities/{name}/records/{id}': ({ entity, job }, own) => [
    { method: 'PATCH', path: records(entity, job), body: { values: { title: 'Taken' } } },
    { method: 'PATCH', path: records(own.entity, job), body: { values: { title: 'Taken' } } },
    { method: 'PATCH', path: records(own.entity, job), body: { values: { title: 1 } } },
    { method: 'PATCH', path: records(entity, own.job), body: { values: {} } },
  ],
  'DELETE /api/v1/tenant/entities/{name}/records/{id}': ({ entity, job }, own) => [
    { method: 'DELETE', path: records(entity, job) },
    { method: 'DELETE', path: records(own.entity, job) },
    { method: 'DELETE', path: records(entity, own.job) },
  ],
  'POST /api/v1/tenant/entities/{name}/records/{id}/notes': ({ entity, job }, own) => [
    { method: 'POST', path: `${records(entity, job)}/notes`, body: { body: 'x' } },
    { method: 'POST', path: `${records(own.entity, job)}/notes`, body: { body: 'x' } },
    { method: 'POST', path: `${records(entity, own.job)}/notes`, body: { body: 'x' } },
  ],
  'GET /api/v1/tenant/entities/{name}/records/{id}/notes': ({ entity, job, cursor }, own) => [
    { method: 'GET', path: `${records(entity, job)}/notes` },
    { method: 'GET', path: `${records(own.entity, job)}/notes` },
    { method: 'GET', path: `${records(own.entity, own.job)}/notes?cursor=${cursor}` },
  ],
};
