import { EXPENSES, JOBS, WORKFLOWS } from '../workflow/support.ts';
import type { Attack } from './routes.ts';

/** Attacks on workflows, jobs and public links. */
export const WORKFLOW: Readonly<Record<string, Attack>> = {
  'GET /api/v1/tenant/workflows': ({ cursor, tenant }) => [
    { method: 'GET', path: `${WORKFLOWS}?cursor=${cursor}` },
    { method: 'GET', path: `${WORKFLOWS}?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/workflows': ({ tenant }) => [
    { method: 'POST', path: WORKFLOWS, body: { name: 'taken', ...EXPENSES, tenant_id: tenant } },
  ],
  'GET /api/v1/tenant/workflows/{name}': ({ workflow }) => [
    { method: 'GET', path: `${WORKFLOWS}/${workflow}` },
  ],
  'PUT /api/v1/tenant/workflows/{name}': ({ workflow }) => [
    { method: 'PUT', path: `${WORKFLOWS}/${workflow}`, body: { ...EXPENSES, initial: 'paid' } },
    { method: 'PUT', path: `${WORKFLOWS}/${workflow}`, body: {} },
  ],
  'POST /api/v1/tenant/workflows/{name}/publish': ({ workflow }) => [
    { method: 'POST', path: `${WORKFLOWS}/${workflow}/publish` },
  ],
  'GET /api/v1/tenant/jobs': ({ cursor, tenant, entity, workflow }) => [
    { method: 'GET', path: `${JOBS}?cursor=${cursor}` },
    { method: 'GET', path: `${JOBS}?entity_name=${entity}` },
    { method: 'GET', path: `${JOBS}?workflow=${workflow}&state=draft` },
    { method: 'GET', path: `${JOBS}?tenant_id=${tenant}` },
  ],
  'GET /api/v1/tenant/jobs/{id}': ({ job }) => [{ method: 'GET', path: `${JOBS}/${job}` }],
  'POST /api/v1/tenant/jobs/{id}/transitions': ({ job }) => [
    { method: 'POST', path: `${JOBS}/${job}/transitions`, body: { event_name: 'submit' } },
    { method: 'POST', path: `${JOBS}/${job}/transitions`, body: { event_name: 'nothing' } },
    {
      method: 'POST',
      path: `${JOBS}/${job}/transitions`,
      body: { event_name: 'submit', expected_state: 'paid' },
    },
  ],
  'POST /api/v1/tenant/jobs/{id}/override': ({ job }) => [
    { method: 'POST', path: `${JOBS}/${job}/override`, body: { to_state: 'paid', reason: 'x' } },
  ],
  'POST /api/v1/tenant/jobs/{id}/links': ({ job }) => [
    { method: 'POST', path: `${JOBS}/${job}/links`, body: { page_slug: 'status' } },
  ],
  'GET /api/v1/tenant/jobs/{id}/links': ({ job, cursor }) => [
    { method: 'GET', path: `${JOBS}/${job}/links` },
    { method: 'GET', path: `${JOBS}/${job}/links?cursor=${cursor}` },
  ],
  'DELETE /api/v1/tenant/jobs/{id}/links/{link_id}': ({ job, link }, own) => [
    { method: 'DELETE', path: `${JOBS}/${job}/links/${link}` },
    { method: 'DELETE', path: `${JOBS}/${own.job}/links/${link}` },
    { method: 'DELETE', path: `${JOBS}/${job}/links/${own.link}` },
  ],
};
