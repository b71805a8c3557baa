import { FILES, filesOf, formWith, MULTIPART } from '../../support/uploads.ts';
import type { Attack, Call } from './routes.ts';

const upload = (entity: string, id: string): Call => ({
  method: 'POST',
  path: filesOf({ entity, id }),
  options: { raw: new Uint8Array(formWith('planted')), headers: { 'content-type': MULTIPART } },
});

/** Attacks on the files of records. */
export const FILE_ROUTES: Readonly<Record<string, Attack>> = {
  'POST /api/v1/tenant/entities/{name}/records/{id}/files': ({ entity, job, tenant }, own) => [
    upload(entity, job),
    upload(entity, own.job),
    upload(own.entity, job),
    { method: 'POST', path: filesOf({ entity, id: job }), body: {} },
    { ...upload(entity, job), path: `${filesOf({ entity, id: job })}?tenant_id=${tenant}` },
  ],
  'GET /api/v1/tenant/entities/{name}/records/{id}/files': ({ entity, job, cursor }, own) => [
    { method: 'GET', path: filesOf({ entity, id: job }) },
    { method: 'GET', path: filesOf({ entity, id: own.job }) },
    { method: 'GET', path: filesOf({ entity: own.entity, id: job }) },
    { method: 'GET', path: `${filesOf({ entity: own.entity, id: own.job })}?cursor=${cursor}` },
  ],
  'GET /api/v1/tenant/files/{id}': ({ file }) => [{ method: 'GET', path: `${FILES}/${file}` }],
  'GET /api/v1/tenant/files/{id}/content': ({ file }) => [
    { method: 'GET', path: `${FILES}/${file}/content` },
    { method: 'GET', path: `${FILES}/${file}/content`, options: { headers: { range: 'bytes=0-0' } } },
    { method: 'GET', path: `${FILES}/${file}/content`, options: { headers: { 'if-none-match': '*' } } },
  ],
  'DELETE /api/v1/tenant/files/{id}': ({ file }) => [{ method: 'DELETE', path: `${FILES}/${file}` }],
};
