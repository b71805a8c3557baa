import { API_TOKENS, EXTENSIONS, manifestOf, TEST_TOKEN } from '../../support/delegation.ts';
import type { Attack } from './routes.ts';

/** Attacks on API tokens and extensions. */
export const DELEGATION: Readonly<Record<string, Attack>> = {
  'GET /api/v1/tenant/api-tokens': ({ cursor, tenant }) => [
    { method: 'GET', path: `${API_TOKENS}?cursor=${cursor}` },
    { method: 'GET', path: `${API_TOKENS}?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/api-tokens': ({ tenant }) => [
    {
      method: 'POST',
      path: API_TOKENS,
      body: { name: 'x', scopes: ['admin:*'], tenant_id: tenant },
    },
    { method: 'POST', path: `${API_TOKENS}?tenant_id=${tenant}`, body: { name: 'x', scopes: ['admin:*'] } },
  ],
  'GET /api/v1/tenant/api-tokens/{id}': ({ apiToken }) => [
    { method: 'GET', path: `${API_TOKENS}/${apiToken}` },
  ],
  'DELETE /api/v1/tenant/api-tokens/{id}': ({ apiToken }) => [
    { method: 'DELETE', path: `${API_TOKENS}/${apiToken}` },
  ],
  'DELETE /tenant/api-tokens/{id}': ({ apiToken }) => [
    { method: 'DELETE', path: `/tenant/api-tokens/${apiToken}` },
  ],
  'POST /api/v1/tenant/api-tokens/test-token': ({ tenant }) => [
    { method: 'POST', path: `${TEST_TOKEN}?tenant_id=${tenant}` },
    { method: 'POST', path: TEST_TOKEN, body: { tenant_id: tenant } },
  ],
  'GET /api/v1/tenant/extensions': ({ cursor, tenant }) => [
    { method: 'GET', path: `${EXTENSIONS}?cursor=${cursor}` },
    { method: 'GET', path: `${EXTENSIONS}?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/extensions': ({ tenant, extension }) => [
    { method: 'POST', path: EXTENSIONS, body: { ...manifestOf(extension), tenant_id: tenant } },
  ],
  'POST /api/v1/tenant/extensions/{id}/activate': ({ extension }) => [
    { method: 'POST', path: `${EXTENSIONS}/${extension}/activate` },
  ],
  'POST /api/v1/tenant/extensions/{id}/deactivate': ({ extension }) => [
    { method: 'POST', path: `${EXTENSIONS}/${extension}/deactivate` },
  ],
  'POST /api/v1/tenant/extensions/{id}/token': ({ extension }) => [
    { method: 'POST', path: `${EXTENSIONS}/${extension}/token` },
  ],
  'DELETE /api/v1/tenant/extensions/{id}': ({ extension }) => [
    { method: 'DELETE', path: `${EXTENSIONS}/${extension}` },
  ],
};
