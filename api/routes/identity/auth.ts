import { z } from 'zod';
import type { Principal } from '../../../application/core/commands/principal.ts';
import {
  PLATFORM_TOKEN_SECONDS,
  TENANT_TOKEN_SECONDS,
} from '../../../application/identity/authentication-claims.ts';
import type { UserView } from '../../../application/identity/identity.ts';
import type { Login } from '../../../application/identity/login.ts';
import { type Route, route } from '../../http/route.ts';

interface Deps {
  readonly login: Login;
}

/** Sign-in (specification, Credential endpoints; decisions, section 3). Served with and without the prefix. */

const TAG = 'Authentication';
const bearer = { token: z.string(), token_type: z.literal('Bearer'), expires_in: z.int() };
const credentials = z.object({ email: z.string().min(1).max(320), password: z.string().min(1).max(1000) });

const tenantLogin = credentials.extend({ tenant: z.string().max(64).optional() });

/** The answer to every kind of sign-in. */
export const signedInAnswer = z.object({
  ...bearer,
  user: z.object({
    id: z.string(),
    email: z.string(),
    display_name: z.string(),
    role: z.enum(['admin', 'operator']),
    tenant_id: z.string(),
  }),
});

export const signedIn = (
  token: string,
  user: UserView,
  tenantId: string,
): z.output<typeof signedInAnswer> => ({
  token,
  token_type: 'Bearer',
  expires_in: TENANT_TOKEN_SECONDS,
  user: {
    id: user.id,
    email: user.email,
    display_name: user.display_name,
    role: user.role,
    tenant_id: tenantId,
  },
});

export const authRoutes = (deps: Deps): Route[] => [
  route<Principal, undefined, undefined, typeof tenantLogin>({
    method: 'post',
    path: '/auth/login',
    aliases: ['/api/v1/auth/login'],
    operationId: 'login',
    summary: 'Sign in to a tenant with e-mail and password',
    tag: TAG,
    access: { kind: 'public' },
    limit: 'login',
    body: tenantLogin,
    responses: {
      200: signedInAnswer,
    },
    errors: ['invalid_credential', 'tenant_required', 'tenant_suspended'],
    reads: ['logins'],
    handle: async (request) => {
      const { email, password, tenant } = request.body;
      const { token, user, tenantId } = await deps.login.tenantUser(email, password, tenant);
      return { status: 200, body: signedIn(token, user, tenantId) };
    },
  }),

  route<Principal, undefined, undefined, typeof credentials>({
    method: 'post',
    path: '/super/auth/login',
    aliases: ['/api/v1/super/auth/login'],
    operationId: 'platformLogin',
    summary: 'Sign in as a platform admin',
    tag: TAG,
    access: { kind: 'public' },
    limit: 'login',
    body: credentials,
    responses: { 200: z.object(bearer) },
    errors: ['invalid_credential'],
    handle: async (request) => {
      const { token } = await deps.login.platformAdmin(request.body.email, request.body.password);
      return { status: 200, body: { token, token_type: 'Bearer', expires_in: PLATFORM_TOKEN_SECONDS } };
    },
  }),
];
