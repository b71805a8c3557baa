import { type Case, describeCases } from './cases.ts';

const thing = { title: 'A thing' };

/** Credential, role and tenant, and their precedence over later checks (decisions, section 2). */
const cases: readonly Case[] = [
  {
    name: 'no credential',
    send: ['POST', '/api/v1/things', { body: '{' }],
    status: 401,
    error: 'unauthenticated',
  },
  {
    name: 'an unknown credential',
    send: ['GET', '/api/v1/things', { as: 'x' }],
    status: 401,
    error: 'invalid_credential',
  },
  {
    name: 'an expired credential',
    send: ['GET', '/api/v1/things', { as: 'late' }],
    status: 401,
    error: 'credential_expired',
  },
  {
    name: 'another scheme',
    send: ['GET', '/api/v1/things', { headers: { Authorization: 'Basic YTpi' } }],
    status: 401,
    error: 'invalid_credential',
  },
  {
    name: 'a scheme alone',
    send: ['GET', '/api/v1/things', { headers: { Authorization: 'Bearer ' } }],
    status: 401,
    error: 'invalid_credential',
  },
  {
    name: 'two tokens in one header',
    send: ['GET', '/api/v1/things', { headers: { Authorization: 'Bearer admin, Bearer x' } }],
    status: 401,
    error: 'invalid_credential',
  },
  {
    name: 'the scheme in another case',
    send: ['GET', '/api/v1/things', { headers: { Authorization: 'bEaReR  admin' } }],
    status: 200,
  },
  {
    name: 'a credential that is checked asynchronously',
    send: ['GET', '/api/v1/things', { as: 'slow-admin' }],
    status: 200,
  },
  {
    name: 'a credential of another family',
    send: ['GET', '/super/tenants', { as: 'admin' }],
    status: 401,
    error: 'invalid_credential',
  },
  {
    name: 'checks the role before the path id',
    send: ['DELETE', '/api/v1/things/nonsense', { as: 'operator' }],
    status: 403,
    error: 'admin_required',
  },
  {
    name: 'checks the role before the body',
    send: ['PUT', '/api/v1/big', { as: 'operator', body: '{' }],
    status: 403,
    error: 'admin_required',
  },
  {
    name: 'another tenant in the body',
    send: ['POST', '/api/v1/things', { as: 'admin', body: { tenant_id: 'globex' } }],
    status: 403,
    error: 'tenant_mismatch',
  },
  {
    name: 'a tenant id that is no text',
    send: ['POST', '/api/v1/things', { as: 'admin', body: { tenant_id: 5 } }],
    status: 403,
    error: 'tenant_mismatch',
  },
  {
    name: 'the caller’s own tenant in the body',
    send: ['POST', '/api/v1/things', { as: 'admin', body: { ...thing, tenant_id: 'acme' } }],
    status: 201,
  },
  {
    name: 'no tenant in the body',
    send: ['POST', '/api/v1/things', { as: 'admin', body: { ...thing, tenant_id: null } }],
    status: 201,
  },
  {
    name: 'another tenant in the query',
    send: ['GET', '/api/v1/things?tenant_id=globex', { as: 'admin' }],
    status: 403,
    error: 'tenant_mismatch',
  },
  {
    name: 'two tenants in the query',
    send: ['GET', '/api/v1/things?tenant_id=acme&tenant_id=globex', { as: 'admin' }],
    status: 403,
    error: 'tenant_mismatch',
  },
  {
    name: 'checks the tenant before a malformed id',
    send: ['GET', '/api/v1/things/x?tenant_id=globex', { as: 'admin' }],
    status: 403,
    error: 'tenant_mismatch',
  },
];

describeCases('checks of access', cases);
