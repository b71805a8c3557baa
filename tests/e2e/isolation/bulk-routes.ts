import { BULK, bodyOf, DELETE, edit, SESSIONS } from '../bulk/support.ts';
import type { Attack } from './routes.ts';

/** Attacks on bulk sessions. `tests/e2e/bulk/sessions.test.ts` covers another tenant's record ids in own sessions. */
export const BULK_ROUTES: Readonly<Record<string, Attack>> = {
  'POST /api/v1/tenant/bulk-ops/preview': ({ entity, job, tenant }, own) => [
    { method: 'POST', path: `${BULK}/preview`, body: bodyOf(entity, DELETE, [job]) },
    { method: 'POST', path: `${BULK}/preview`, body: bodyOf(entity, edit({ title: 'x' }), 'true') },
    { method: 'POST', path: `${BULK}/preview`, body: bodyOf(entity, DELETE, [own.job]) },
    {
      method: 'POST',
      path: `${BULK}/preview`,
      body: { ...bodyOf(own.entity, DELETE, [job]), tenant_id: tenant },
    },
  ],
  'GET /api/v1/tenant/bulk-ops/sessions': ({ cursor, tenant }) => [
    { method: 'GET', path: `${SESSIONS}?cursor=${cursor}` },
    { method: 'GET', path: `${SESSIONS}?tenant_id=${tenant}` },
  ],
  'GET /api/v1/tenant/bulk-ops/sessions/{id}': ({ bulkSession }) => [
    { method: 'GET', path: `${SESSIONS}/${bulkSession}` },
  ],
  'POST /api/v1/tenant/bulk-ops/sessions/{id}/commit': ({ bulkSession }) => [
    { method: 'POST', path: `${SESSIONS}/${bulkSession}/commit` },
  ],
  'POST /api/v1/tenant/bulk-ops/sessions/{id}/cancel': ({ bulkSession }) => [
    { method: 'POST', path: `${SESSIONS}/${bulkSession}/cancel` },
  ],
  'GET /api/v1/tenant/bulk-ops/sessions/{id}/errors.csv': ({ bulkSession }) => [
    { method: 'GET', path: `${SESSIONS}/${bulkSession}/errors.csv` },
  ],
};
