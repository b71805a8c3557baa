import { randomUUID } from 'node:crypto';
import type { Options } from '../../support/client.ts';
import { BASE, type Member, NOTIFICATIONS, USERS } from '../../support/world.ts';
import { ASSISTANT_ROUTES } from './assistant-routes.ts';
import { AUDIT_ROUTES } from './audit-routes.ts';
import { BULK_ROUTES } from './bulk-routes.ts';
import { DELEGATION } from './delegation-routes.ts';
import { ENTITY_ROUTES } from './entity-routes.ts';
import { FILE_ROUTES } from './file-routes.ts';
import { FORM_ROUTES } from './form-routes.ts';
import { LEDGER_ROUTES } from './ledger-routes.ts';
import { TIME_TRAVEL_ROUTES } from './time-travel-routes.ts';
import { WEBHOOK_ROUTES } from './webhook-routes.ts';
import { WORKFLOW } from './workflow-routes.ts';

/** Resources of tenant A, or, with made-up ids, of nobody. */
export interface Things {
  readonly conversation: string;
  readonly message: string;
  readonly notification: string;
  readonly user: string;
  readonly tenant: string;
  readonly apiToken: string;
  /** An `ext_id`. */
  readonly extension: string;
  /** Names, not ids. */
  readonly workflow: string;
  readonly entity: string;
  /** Id of the job and of its record. */
  readonly job: string;
  readonly link: string;
  /** A file of the record. */
  readonly file: string;
  readonly form: string;
  /** An account's code; `entry` is the id of a posted entry, and `draft` of a draft. */
  readonly account: string;
  readonly entry: string;
  readonly draft: string;
  readonly postingRule: string;
  readonly postingFailure: string;
  readonly webhook: string;
  /** A delivery of the webhook. */
  readonly delivery: string;
  /** A previewed session. */
  readonly bulkSession: string;
  /** A cursor of one of A's lists, or an imitation. */
  readonly cursor: string;
}

export const nothing = (cursor: string): Things => ({
  conversation: randomUUID(),
  message: randomUUID(),
  notification: randomUUID(),
  user: randomUUID(),
  tenant: 'nowhere',
  apiToken: randomUUID(),
  extension: 'not-installed',
  workflow: 'no_such_flow',
  entity: 'no_such_entity',
  job: randomUUID(),
  link: randomUUID(),
  file: randomUUID(),
  form: randomUUID(),
  bulkSession: randomUUID(),
  webhook: randomUUID(),
  delivery: randomUUID(),
  account: 'no_such_account',
  entry: randomUUID(),
  draft: randomUUID(),
  postingRule: randomUUID(),
  postingFailure: randomUUID(),
  cursor,
});

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly body?: unknown;
  readonly options?: Options;
}

/** Calls of one route by a person of tenant B with A's ids, some of them combined with `own`, B's resources. */
export type Attack = (foreign: Things, own: Things, caller: Member) => readonly Call[];

const messagesOf = (conversation: string): string => `${BASE}/${conversation}/messages`;

/**
 * Every tenant route, with ways to pass another tenant's ids. A new route needs an attack: the test fails for a route
 * without one.
 */
export const ATTACKS: Readonly<Record<string, Attack>> = {
  ...DELEGATION,
  ...WORKFLOW,
  ...FILE_ROUTES,
  ...FORM_ROUTES,
  ...ENTITY_ROUTES,
  ...BULK_ROUTES,
  ...ASSISTANT_ROUTES,
  ...WEBHOOK_ROUTES,
  ...LEDGER_ROUTES,
  ...AUDIT_ROUTES,
  ...TIME_TRAVEL_ROUTES,
  'GET /api/v1/tenant/me': ({ tenant, user }) => [
    { method: 'GET', path: `/api/v1/tenant/me?user_id=${user}&id=${user}` },
    { method: 'GET', path: `/api/v1/tenant/me?tenant=${tenant}` },
    { method: 'GET', path: `/api/v1/tenant/me?tenant_id=${tenant}` },
  ],
  'GET /api/v1/tenant/users': ({ cursor, tenant }) => [
    { method: 'GET', path: `${USERS}?cursor=${cursor}` },
    { method: 'GET', path: `${USERS}?tenant=${tenant}` },
  ],
  'GET /api/v1/tenant/users/{id}': ({ user }) => [{ method: 'GET', path: `${USERS}/${user}` }],
  'POST /api/v1/tenant/users': ({ tenant }) => [
    {
      method: 'POST',
      path: USERS,
      body: { email: 'x@y.example', display_name: 'X', role: 'admin', tenant_id: tenant },
    },
  ],
  'PATCH /api/v1/tenant/users/{id}': ({ user }) => [
    { method: 'PATCH', path: `${USERS}/${user}`, body: { display_name: 'Taken' } },
    { method: 'PATCH', path: `${USERS}/${user}`, body: { status: 'deactivated' } },
    { method: 'PATCH', path: `${USERS}/${user}`, body: { role: 'operator', password: 'a-new-password' } },
    { method: 'PATCH', path: `${USERS}/${user}`, body: {} },
  ],
  'POST /api/v1/tenant/users/{id}/forget': ({ user }) => [
    { method: 'POST', path: `${USERS}/${user}/forget` },
    { method: 'POST', path: `${USERS}/${user}/forget`, body: {} },
  ],
  'POST /api/v1/tenant/users/{id}/password-reset': ({ user }) => [
    { method: 'POST', path: `${USERS}/${user}/password-reset` },
  ],
  'POST /api/v1/tenant/me/password': ({ user }) => [
    {
      method: 'POST',
      path: '/api/v1/tenant/me/password',
      body: { current_password: 'x', new_password: 'a-new-password', user_id: user },
    },
  ],
  'GET /api/v1/tenant/audit/event-log': ({ cursor, tenant, user, conversation }) => [
    { method: 'GET', path: `/api/v1/tenant/audit/event-log?actor=${user}` },
    { method: 'GET', path: `/api/v1/tenant/audit/event-log?limit=1&cursor=${cursor}` },
    { method: 'GET', path: `/api/v1/tenant/audit/event-log?tenant=${tenant}&subject=${conversation}` },
    { method: 'GET', path: `/api/v1/tenant/audit/event-log?tenant_id=${tenant}` },
  ],
  'POST /api/v1/tenant/messaging/conversations': ({ user }, own, caller) => [
    { method: 'POST', path: BASE, body: { participant_user_ids: [user] } },
    { method: 'POST', path: BASE, body: { participant_user_ids: [own.user, user] } },
    { method: 'POST', path: BASE, body: { participant_user_ids: [caller.id, user, user] } },
  ],
  'GET /api/v1/tenant/messaging/conversations': ({ cursor, user }) => [
    { method: 'GET', path: `${BASE}?cursor=${cursor}` },
    { method: 'GET', path: `${BASE}?user_id=${user}` },
  ],
  'GET /api/v1/tenant/messaging/conversations/{id}': ({ conversation }) => [
    { method: 'GET', path: `${BASE}/${conversation}` },
  ],
  'GET /api/v1/tenant/messaging/conversations/{id}/messages': ({ conversation, message }, own) => [
    { method: 'GET', path: messagesOf(conversation) },
    { method: 'GET', path: `${messagesOf(conversation)}?limit=1&before=${message}` },
    { method: 'GET', path: `${messagesOf(own.conversation)}?before=${message}` },
    { method: 'GET', path: `${messagesOf(own.conversation)}?after=${message}` },
    { method: 'GET', path: `${messagesOf(conversation)}?after=${own.message}` },
  ],
  'POST /api/v1/tenant/messaging/conversations/{id}/messages': ({ conversation }) => [
    { method: 'POST', path: messagesOf(conversation), body: { body: 'x' } },
    { method: 'POST', path: messagesOf(conversation), body: { body: '' } },
  ],
  'PATCH /api/v1/tenant/messaging/conversations/{id}/messages/{mid}': ({ conversation, message }, own) => [
    { method: 'PATCH', path: `${messagesOf(conversation)}/${message}`, body: { body: 'x' } },
    { method: 'PATCH', path: `${messagesOf(own.conversation)}/${message}`, body: { body: 'x' } },
    { method: 'PATCH', path: `${messagesOf(conversation)}/${own.message}`, body: { body: 'x' } },
  ],
  'DELETE /api/v1/tenant/messaging/conversations/{id}/messages/{mid}': ({ conversation, message }, own) => [
    { method: 'DELETE', path: `${messagesOf(conversation)}/${message}` },
    { method: 'DELETE', path: `${messagesOf(own.conversation)}/${message}` },
    { method: 'DELETE', path: `${messagesOf(conversation)}/${own.message}` },
  ],
  'POST /api/v1/tenant/messaging/conversations/{id}/read': ({ conversation }) => [
    { method: 'POST', path: `${BASE}/${conversation}/read` },
  ],
  'GET /api/v1/tenant/notifications': ({ cursor, user }) => [
    { method: 'GET', path: `${NOTIFICATIONS}?cursor=${cursor}` },
    { method: 'GET', path: `${NOTIFICATIONS}?recipient_user_id=${user}&user_id=${user}` },
  ],
  'GET /api/v1/tenant/notifications/unread-count': ({ user }) => [
    { method: 'GET', path: `${NOTIFICATIONS}/unread-count?user_id=${user}` },
  ],
  'POST /api/v1/tenant/notifications/mark-read': ({ notification, user }) => [
    { method: 'POST', path: `${NOTIFICATIONS}/mark-read`, body: { ids: [notification] } },
    { method: 'POST', path: `${NOTIFICATIONS}/mark-read`, body: { ids: [notification], user_id: user } },
  ],
};

/**
 * Routes of no tenant. Key families isolate them: see the tests of credentials and partners (`tests/e2e/identity`).
 */
export const OUTSIDE =
  /^\w+ (\/api\/v1)?\/(auth\/login|auth\/sso\/.*|auth\/password-reset|super\/.*|partner-portal\/.*|public\/.*|health\/.*|version|metrics|openapi\.json|asyncapi\.json|docs(\/.*)?)$/;
