import type { Scope } from '../../../domain/identity/scopes.ts';

/**
 * Allowed callers of each route, from the specification (Authentication, Enforcement rules) and decisions, section 3,
 * never from the code. A new route needs a row: the test fails for a route without one.
 */
export type Rule =
  | { readonly family: 'public' }
  | { readonly family: 'platform' }
  /** `billing`: requires `partner-billing`. */
  | { readonly family: 'partner'; readonly billing: boolean }
  | {
      readonly family: 'tenant';
      /** Role that a person needs. */
      readonly role: 'any' | 'admin';
      /** Scope that extensions and API tokens need. A row without a scope refuses both. */
      readonly scope?: Scope;
      /** Error of an API token that is not allowed; default `tenant_session_required`. */
      readonly apiToken?: 'delegated_credential_refused';
      /** `session`: test tokens and extensions get `delegated_credential_refused`. `keys`: refuses impersonators. */
      readonly mints?: 'session' | 'keys';
      readonly entitlement?: 'ledger' | 'assistant';
    };

export type Table = Readonly<Record<string, Rule>>;

const PUBLIC: Rule = { family: 'public' };
const PLATFORM: Rule = { family: 'platform' };
const PERSON: Rule = { family: 'tenant', role: 'any' };
const ADMIN: Rule = { family: 'tenant', role: 'admin' };
const LEDGER: Rule = { ...PERSON, entitlement: 'ledger' };
const ASSISTANT: Rule = { ...PERSON, entitlement: 'assistant' };
const DELEGATION: Rule = { ...ADMIN, apiToken: 'delegated_credential_refused' };
const LOADING: Rule = { ...PERSON, apiToken: 'delegated_credential_refused' };
const scoped = (scope: Scope, role: 'any' | 'admin' = 'any'): Rule => ({ family: 'tenant', role, scope });

/** One rule for several routes `METHOD path`; `{…}` is a parameter. */
const rows = (rule: Rule, base: string, ...routes: readonly string[]): Table =>
  Object.fromEntries(
    routes.map((route) => {
      const [method = '', path = ''] = route.split(' ');
      return [`${method} ${base}${path}`, rule];
    }),
  );

/** Paths that the specification gives without `/api/v1`; they are served with this prefix as well (section 1). */
const both = (rule: Rule, base: string, ...routes: readonly string[]): Table => ({
  ...rows(rule, base, ...routes),
  ...rows(rule, `/api/v1${base}`, ...routes),
});

const TENANT = '/api/v1/tenant';
const HOOKS = `${TENANT}/webhooks`;
const CONVERSATIONS = `${TENANT}/messaging/conversations`;
const RECORDS = `${TENANT}/entities/{name}/records`;

export const TABLE: Table = {
  ...rows(
    PUBLIC,
    '',
    'GET /health/live',
    'GET /health/ready',
    'GET /version',
    'GET /metrics',
    'GET /openapi.json',
    'GET /asyncapi.json',
  ),
  ...rows(PUBLIC, '/docs', 'GET ', 'GET /{file}'),
  ...both(PUBLIC, '/auth', 'POST /login', 'GET /sso/{tenant}/start', 'GET /sso/callback'),
  ...rows(PUBLIC, '/auth', 'GET /password-reset', 'POST /password-reset'),
  ...both(PUBLIC, '/super/auth', 'POST /login'),
  ...both(PUBLIC, '/public/validate', 'GET /{token}'),
  ...both(PUBLIC, '/public/forms/{tenant}/{slug}', 'GET ', 'POST /submissions'),
  ...rows(PUBLIC, '/api/v1/partner-portal/auth', 'POST /exchange'),

  ...both(PLATFORM, '/super/tenants', 'GET ', 'POST ', 'GET /{id}', 'PATCH /{id}'),
  ...both(PLATFORM, '/super/partners', 'GET ', 'POST ', 'GET /{id}', 'PATCH /{id}'),
  ...both(PLATFORM, '/super', 'POST /impersonate/{tenant_id}'),
  ...both(PLATFORM, '/super/projections', 'GET ', 'POST /{name}/retry', 'POST /{name}/rebuild'),

  ...rows({ family: 'partner', billing: false }, '/api/v1/partner-portal', 'GET /me'),
  ...rows(
    { family: 'partner', billing: true },
    '/api/v1/partner-portal/billing',
    'GET /profile',
    'PUT /profile',
    'GET /rate-card',
    'PUT /rate-card',
    'GET /statements',
    'GET /statements.csv',
    'GET /statements/{customer_id}/usage',
    'GET /reconciliation',
    'GET /reconciliation.csv',
  ),
  ...rows(
    { family: 'partner', billing: true },
    '/api/v1/partner-portal/billing/invoices',
    'GET ',
    'POST /generate',
    'GET /{id}',
    'GET /{id}/page',
    'PATCH /{id}',
    'POST /{id}/issue',
    'POST /{id}/void',
  ),

  ...rows(PERSON, TENANT, 'GET /me', 'GET /users', 'GET /users/{id}'),
  ...rows(ADMIN, TENANT, 'POST /users', 'PATCH /users/{id}', 'POST /users/{id}/forget'),
  ...rows({ ...PERSON, mints: 'keys' }, TENANT, 'POST /me/password'),
  ...rows({ ...ADMIN, mints: 'keys' }, TENANT, 'POST /users/{id}/password-reset'),
  ...rows(
    ADMIN,
    `${TENANT}/audit`,
    'GET /event-log',
    'GET /streams/{stream}/state',
    'GET /events',
    'GET /proof',
  ),
  ...rows(DELEGATION, TENANT, 'GET /api-tokens', 'GET /api-tokens/{id}'),
  ...rows({ ...DELEGATION, mints: 'keys' }, TENANT, 'POST /api-tokens'),
  ...rows({ ...DELEGATION, mints: 'session' }, TENANT, 'POST /api-tokens/test-token'),
  ...both(DELEGATION, '/tenant/api-tokens', 'DELETE /{id}'),
  ...rows(DELEGATION, `${TENANT}/extensions`, 'POST ', 'DELETE /{id}'),
  ...rows(DELEGATION, `${TENANT}/extensions/{id}`, 'POST /activate', 'POST /deactivate'),
  ...rows(LOADING, `${TENANT}/extensions`, 'GET ', 'POST /{id}/token'),

  ...rows(PERSON, CONVERSATIONS, 'GET ', 'POST ', 'GET /{id}', 'GET /{id}/messages', 'POST /{id}/messages'),
  ...rows(PERSON, `${CONVERSATIONS}/{id}`, 'PATCH /messages/{mid}', 'DELETE /messages/{mid}', 'POST /read'),
  ...rows(PERSON, `${TENANT}/notifications`, 'GET ', 'GET /unread-count', 'POST /mark-read'),

  ...rows(scoped('data:read'), `${TENANT}/entities`, 'GET ', 'GET /{name}'),
  ...rows(scoped('data:write', 'admin'), `${TENANT}/entities`, 'POST ', 'PATCH /{name}'),
  ...rows(scoped('data:read'), RECORDS, 'GET ', 'GET /{id}', 'GET /{id}/notes'),
  ...rows(scoped('data:write'), RECORDS, 'POST ', 'PATCH /{id}', 'DELETE /{id}', 'POST /{id}/notes'),
  ...rows(scoped('files:read'), RECORDS, 'GET /{id}/files'),
  ...rows(scoped('files:write'), RECORDS, 'POST /{id}/files'),
  ...rows(scoped('files:read'), `${TENANT}/files`, 'GET /{id}', 'GET /{id}/content'),
  ...rows(scoped('files:write'), `${TENANT}/files`, 'DELETE /{id}'),

  ...rows(scoped('workflow:read'), `${TENANT}/workflows`, 'GET ', 'GET /{name}'),
  ...rows(
    scoped('workflow:admin', 'admin'),
    `${TENANT}/workflows`,
    'POST ',
    'PUT /{name}',
    'POST /{name}/publish',
  ),
  ...rows(scoped('workflow:read'), `${TENANT}/jobs`, 'GET ', 'GET /{id}', 'GET /{id}/links'),
  ...rows(scoped('workflow:execute'), `${TENANT}/jobs/{id}`, 'POST /transitions'),
  ...rows(scoped('workflow:admin', 'admin'), `${TENANT}/jobs/{id}`, 'POST /override'),
  ...rows(scoped('workflow:execute'), `${TENANT}/jobs/{id}/links`, 'POST ', 'DELETE /{link_id}'),

  ...rows(scoped('forms:read'), `${TENANT}/forms`, 'GET ', 'GET /{id}'),
  ...rows(scoped('forms:write', 'admin'), `${TENANT}/forms`, 'POST ', 'PATCH /{id}'),
  ...rows(
    scoped('forms:admin', 'admin'),
    `${TENANT}/forms/{id}`,
    'DELETE ',
    'POST /publish',
    'POST /archive',
  ),
  ...rows(ADMIN, `${TENANT}/bulk-ops`, 'POST /preview', 'GET /sessions', 'GET /sessions/{id}'),
  ...rows(ADMIN, `${TENANT}/bulk-ops/sessions/{id}`, 'POST /commit', 'POST /cancel', 'GET /errors.csv'),

  ...rows(PERSON, HOOKS, 'GET ', 'POST ', 'GET /{id}', 'PATCH /{id}', 'DELETE /{id}'),
  ...rows(
    PERSON,
    `${HOOKS}/{id}`,
    'POST /rotate-secret',
    'POST /test',
    'GET /deliveries',
    'POST /replay-dlq',
  ),
  ...rows(PERSON, HOOKS, 'GET /deliveries/{delivery_id}', 'POST /deliveries/{delivery_id}/replay'),

  ...rows(LEDGER, `${TENANT}/gl/accounts`, 'GET ', 'POST ', 'GET /{code}', 'PATCH /{code}'),
  ...rows(LEDGER, `${TENANT}/gl/entries`, 'GET ', 'POST ', 'GET /{id}', 'PATCH /{id}', 'DELETE /{id}'),
  ...rows(LEDGER, `${TENANT}/gl/entries/{id}`, 'POST /post', 'POST /reverse'),
  ...rows(LEDGER, `${TENANT}/gl`, 'GET /lock', 'GET /entries.csv', 'GET /journal.hledger'),
  ...rows(LEDGER, `${TENANT}/gl/posting-rules`, 'GET ', 'POST ', 'GET /sources', 'PATCH /{id}'),
  ...rows(LEDGER, `${TENANT}/gl/posting-rules/{id}`, 'GET ', 'POST /preview'),
  ...rows(LEDGER, `${TENANT}/gl/posting-failures`, 'GET ', 'POST /{id}/retry'),
  ...rows({ ...ADMIN, entitlement: 'ledger' }, `${TENANT}/gl`, 'PUT /lock'),
  ...rows(LEDGER, `${TENANT}/reports`, 'GET /trial-balance', 'GET /trial-balance.csv', 'GET /pnl'),
  ...rows(LEDGER, `${TENANT}/reports`, 'GET /balance-sheet'),

  ...rows(ASSISTANT, TENANT, 'POST /ai/assistant/ask', 'POST /rag/backfill'),
};

/** Rows of planned routes. They are checked once the routes exist, and then belong in the table above. */
export const PLANNED: Table = {};
