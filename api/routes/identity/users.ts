import { z } from 'zod';
import type { UserPrincipal } from '../../../application/core/commands/principal.ts';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { Forgetting } from '../../../application/identity/forgetting.ts';
import type { Identity, UserView } from '../../../application/identity/identity.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { type UserDoc, usersOf } from '../../../projections/identity/users.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, text, timestamp } from '../../http/schemas.ts';
import { adminRoute, personRoute } from '../route-kinds.ts';

interface Deps {
  readonly directory: Directory;
  readonly forgetting: Forgetting;
  readonly identity: Identity;
  readonly ids: Ids;
  readonly readModels: ReadModels;
}

/** The people of a tenant (decisions, section 3). */

const BASE = '/api/v1/tenant';
const TAG = 'Users';

const role = z.enum(['admin', 'operator']);
export const userView = z
  .object({
    id: z.string(),
    email: z.string(),
    display_name: z.string(),
    role,
    status: z.enum(['active', 'deactivated']),
    created_at: timestamp,
  })
  .meta({ id: 'User' });

export const emailAddress = z.email('This is not an e-mail address.').max(320);
export const password = text({ min: 10, max: 200 }).meta({ description: '10 to 200 characters.' });
export const displayName = text({ max: 200 }).refine(
  (name) => name.trim() !== '',
  'The name must not be blank.',
);

/**
 * Refuses passwords and admins under impersonation, since they would outlive it (docs/security.md).
 * @throws `forbidden`
 */
const checkLasting = (
  { impersonatedBy }: UserPrincipal,
  change: { readonly role?: string | undefined; readonly password?: string | undefined },
): void => {
  if (impersonatedBy === undefined || (change.password === undefined && change.role !== 'admin')) return;
  throw new DomainError(
    'forbidden',
    'A platform admin who acts as somebody else gives no passwords or roles.',
  );
};

export const userRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('users');

  const views = (docs: readonly UserDoc[]): Promise<UserView[]> =>
    Promise.all(
      docs.map(async (doc) => ({
        ...doc,
        email: await deps.directory.open(doc.email),
        display_name: await deps.directory.open(doc.display_name),
      })),
    );

  return [
    personRoute({
      method: 'get',
      path: `${BASE}/me`,
      operationId: 'me',
      summary: 'The caller',
      tag: TAG,
      responses: {
        200: userView
          .extend({ tenant_id: z.string(), impersonated_by: z.string().optional() })
          .meta({ id: 'Me' }),
      },
      handle: async (request) => {
        const { tenantId, userId, role: effective, impersonatedBy } = request.principal;
        const view = await deps.identity.get(tenantId, userId);
        return {
          status: 200,
          body: {
            ...view,
            role: effective,
            tenant_id: tenantId,
            ...(impersonatedBy === undefined ? {} : { impersonated_by: impersonatedBy }),
          },
        };
      },
    }),

    personRoute({
      method: 'get',
      path: `${BASE}/users`,
      operationId: 'listUsers',
      summary: 'The people of the tenant, oldest account first',
      tag: TAG,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(userView) },
      reads: ['users'],
      handle: async (request) => {
        const after = decodeCursor(request.query.cursor);
        const page = await usersOf(reader, request.principal.tenantId, { limit: request.query.limit, after });
        return { status: 200, body: await views(page.docs), next: nextPage(page.next) };
      },
    }),

    adminRoute({
      method: 'post',
      path: `${BASE}/users`,
      operationId: 'createUser',
      summary: 'Add a person',
      tag: TAG,
      body: z.object({ email: emailAddress, display_name: displayName, role, password: password.optional() }),
      responses: { 201: userView },
      errors: ['already_exists'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { email, display_name, role: given, password: secret } = request.body;
        checkLasting(request.principal, { role: given, password: secret });
        const context = contextOf(deps, request);
        const id = context.newId();
        const created = await deps.identity.createUser(
          tenantId,
          { id, email, displayName: display_name, role: given, password: secret },
          context,
        );
        return {
          status: 201,
          body: created.user,
          position: created.position,
          personal: [personKeyId(tenantId, id)],
        };
      },
    }),

    adminRoute({
      method: 'patch',
      path: `${BASE}/users/:id`,
      operationId: 'changeUser',
      summary: 'Rename, change the role, deactivate, or give a new password',
      tag: TAG,
      params: z.object({ id: z.string().max(128) }),
      body: z.object({
        display_name: displayName.optional(),
        role: role.optional(),
        status: z.enum(['active', 'deactivated']).optional(),
        password: password.optional(),
      }),
      responses: { 200: userView },
      errors: ['not_found', 'conflict', 'invalid_transition'],
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { display_name, role: given, status, password: secret } = request.body;
        checkLasting(request.principal, { role: given, password: secret });
        const changed = await deps.identity.changeUser(
          tenantId,
          request.params.id,
          { displayName: display_name, role: given, status, password: secret },
          userId,
          contextOf(deps, request),
        );
        return {
          status: 200,
          body: changed.user,
          position: changed.position,
          personal: [personKeyId(tenantId, request.params.id)],
        };
      },
    }),

    adminRoute({
      method: 'post',
      path: `${BASE}/users/:id/forget`,
      operationId: 'forgetUser',
      summary: 'Erase name, e-mail and password for good, deactivate, and free the e-mail; not oneself',
      tag: TAG,
      params: z.object({ id: z.string().max(128) }),
      responses: { 202: userView },
      errors: ['not_found', 'conflict'],
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const context = contextOf(deps, request);
        const { user, position } = await deps.forgetting.forget(tenantId, request.params.id, userId, context);
        return { status: 202, body: await deps.identity.view(user), position };
      },
    }),
  ];
};
