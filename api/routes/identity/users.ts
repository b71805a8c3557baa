import { z } from 'zod';
import type { Written } from '../../../application/core/commands/command.ts';
import type { UserPrincipal } from '../../../application/core/commands/principal.ts';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { Forgetting } from '../../../application/identity/forgetting.ts';
import type { Identity, UserView } from '../../../application/identity/identity.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { type UserDoc, usersOf } from '../../../projections/identity/users.ts';
import type { Reply, Route } from '../../http/route.ts';
import { filledText, text, timestamp } from '../../http/schemas.ts';
import { creation, listReply, ok, one, pagedList } from '../replies.ts';
import { adminRoute, personRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly directory: Directory;
  readonly forgetting: Forgetting;
  readonly identity: Identity;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant';

const userParams = z.object({ id: z.string().max(128) });

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
export const displayName = filledText(200, 'The name must not be blank.');

const newUser = z.object({
  email: emailAddress,
  display_name: displayName,
  role,
  password: password.optional(),
});

/**
 * Refuses to set a password or make an admin under impersonation: either would outlive the impersonation
 * (docs/security.md).
 * @throws `forbidden`
 */
const checkLasting = (
  { impersonatedBy }: UserPrincipal,
  change: { readonly role?: string | undefined; readonly password?: string | undefined },
): void => {
  if (impersonatedBy === undefined || (change.password === undefined && change.role !== 'admin')) return;
  throw new DomainError(
    'forbidden',
    'A platform admin may not set passwords or appoint admins during an impersonation.',
  );
};

/** The people of a tenant (decisions, section 3). */
export const userRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('users');

  const opened = async (doc: UserDoc): Promise<UserView> => ({
    ...doc,
    email: await deps.directory.open(doc.email),
    display_name: await deps.directory.open(doc.display_name),
  });
  const reply = (
    tenantId: string,
    status: number,
    { user, position }: Written<{ user: UserView }>,
  ): Reply => {
    return { status, body: user, position, personal: [personKeyId(tenantId, user.id)] };
  };

  return tagged('Users', [
    personRoute({
      method: 'get',
      path: `${BASE}/me`,
      operationId: 'me',
      summary: 'The caller',
      description:
        'Shows the person of the token with the current role. During an impersonation `impersonated_by` ' +
        'is the e-mail of the platform admin.',
      responses: {
        200: userView
          .extend({ tenant_id: z.string(), impersonated_by: z.string().optional() })
          .meta({ id: 'Me' }),
      },
      handle: async ({ principal: { tenantId, userId, role: effective, impersonatedBy } }) => {
        const view = await deps.identity.get(tenantId, userId);
        return ok({ ...view, role: effective, tenant_id: tenantId, impersonated_by: impersonatedBy });
      },
    }),

    personRoute({
      ...pagedList(userView),
      path: `${BASE}/users`,
      operationId: 'listUsers',
      summary: 'The people of the tenant, oldest account first',
      description:
        'Every person of the tenant may read the list, for example to find the ids of participants and mentions.',
      reads: ['users'],
      handle: ({ principal, query }) =>
        listReply(query, (page) => usersOf(reader, principal.tenantId, page), opened),
    }),

    personRoute({
      ...one('get', userView, userParams),
      path: `${BASE}/users/:id`,
      operationId: 'getUser',
      summary: 'One person of the tenant, also a deactivated one',
      description: 'Deactivated and forgotten people are found too; a forgotten one shows as `[erased]`.',
      handle: async ({ principal, params }) => ok(await deps.identity.get(principal.tenantId, params.id)),
    }),

    adminRoute({
      ...creation(userView, newUser),
      path: `${BASE}/users`,
      operationId: 'createUser',
      summary: 'Add a person',
      description:
        'The e-mail is unique in the tenant, ignoring case. A person without a password signs in by ' +
        'single sign-on.',
      errors: ['already_exists'],
      handle: async ({ principal, body: { display_name: displayName, ...given }, context }) => {
        checkLasting(principal, given);
        const user = { id: context.newId(), displayName, ...given };
        const created = await deps.identity.createUser(principal.tenantId, user, context);
        return reply(principal.tenantId, 201, created);
      },
    }),

    adminRoute({
      ...one('patch', userView, userParams),
      path: `${BASE}/users/:id`,
      operationId: 'changeUser',
      summary: 'Change the name, role, status or password of a person',
      description:
        'Send the fields that change. Requests of a deactivated person are refused at once, and open ' +
        'sockets are closed. You cannot change your own role or status.',
      body: z.object({
        display_name: displayName.optional(),
        role: role.optional(),
        status: z.enum(['active', 'deactivated']).optional(),
        password: password.optional(),
      }),
      errors: ['conflict', 'invalid_transition'],
      handle: async ({ principal, params, body: { display_name: displayName, ...given }, context }) => {
        const { tenantId, userId } = principal;
        checkLasting(principal, given);
        const change = { displayName, ...given };
        const changed = await deps.identity.changeUser(tenantId, params.id, change, userId, context);
        return reply(tenantId, 200, changed);
      },
    }),

    adminRoute({
      method: 'post',
      path: `${BASE}/users/:id/forget`,
      operationId: 'forgetUser',
      summary:
        'Forget a person: erase name, e-mail and password for good and deactivate the account; not your own',
      description:
        'Destroys the key of the personal data within 5 seconds, so that no file holds a readable name or ' +
        'e-mail; both show as `[erased]`. The e-mail can be used again. This cannot be undone. Repeating ' +
        'it changes nothing.',
      params: userParams,
      responses: { 202: userView },
      errors: ['conflict'],
      handle: async ({ principal: { tenantId, userId }, params, context }) => {
        const { user, position } = await deps.forgetting.forget(tenantId, params.id, userId, context);
        return { status: 202, body: await deps.identity.view(user), position };
      },
    }),
  ]);
};
