import type { Attack } from './routes.ts';

/** Attacks on the audit export and the proof, with another tenant's streams, people and ids. */

const EVENTS = '/api/v1/tenant/audit/events';
const PROOF = '/api/v1/tenant/audit/proof';
const NDJSON = { headers: { accept: 'application/x-ndjson' } };

export const AUDIT_ROUTES: Readonly<Record<string, Attack>> = {
  'GET /api/v1/tenant/audit/events': ({ tenant, user, conversation }, own) => [
    { method: 'GET', path: `${EVENTS}?stream=${tenant}.conversation-${conversation}` },
    { method: 'GET', path: `${EVENTS}?stream=${tenant}.user-${user}`, options: NDJSON },
    { method: 'GET', path: `${EVENTS}?stream=${own.tenant}.conversation-${conversation}` },
    { method: 'GET', path: `${EVENTS}?actor=${user}`, options: NDJSON },
    { method: 'GET', path: `${EVENTS}?category=user-${user}` },
    { method: 'GET', path: `${EVENTS}?limit=1&tenant=${tenant}` },
    { method: 'GET', path: `${EVENTS}?tenant_id=${tenant}`, options: NDJSON },
  ],
  'GET /api/v1/tenant/audit/proof': ({ tenant }) => [
    { method: 'GET', path: `${PROOF}?tenant_id=${tenant}` },
    { method: 'GET', path: `${PROOF}?tenant_id=${tenant}`, options: NDJSON },
  ],
};
