import { z } from 'zod';
import {
  PLATFORM_TOKEN_SECONDS,
  TENANT_TOKEN_SECONDS,
} from '../../../application/identity/authentication-claims.ts';
import type { Login, Session } from '../../../application/identity/login.ts';
import type { Route } from '../../http/route.ts';
import { ok, shown } from '../replies.ts';
import { bothPaths, publicRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly login: Login;
}

export const bearer = { token: z.string(), token_type: z.literal('Bearer'), expires_in: z.int() };
const credentials = z.object({ email: z.string().min(1).max(320), password: z.string().min(1).max(1000) });

/** The answer to every sign-in to a tenant. */
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

export const signedIn = ({ token, user, tenantId }: Session) => ({
  token,
  token_type: 'Bearer',
  expires_in: TENANT_TOKEN_SECONDS,
  user: shown(signedInAnswer.shape.user, { ...user, tenant_id: tenantId }),
});

/** Sign-in (specification, Credential endpoints; decisions, section 3). Served with and without `/api/v1`. */
export const authRoutes = (deps: Deps): Route[] =>
  tagged('Authentication', [
    publicRoute({
      method: 'post',
      ...bothPaths('/auth/login'),
      operationId: 'login',
      summary: 'Sign in to a tenant with e-mail and password',
      description:
        'The token is sent as `Authorization: Bearer …` and lasts 24 hours. `tenant` is needed if the same ' +
        'e-mail and password fit accounts of several tenants (409 `tenant_required`), or if more than three ' +
        'tenants have the e-mail (401). A wrong e-mail and a wrong password give the same answer.',
      limit: 'login',
      body: credentials.extend({ tenant: z.string().max(64).optional() }),
      responses: { 200: signedInAnswer },
      errors: ['invalid_credential', 'tenant_required', 'tenant_suspended'],
      reads: ['logins'],
      handle: async ({ body: { email, password, tenant } }) =>
        ok(signedIn(await deps.login.tenantUser(email, password, tenant))),
    }),

    publicRoute({
      method: 'post',
      ...bothPaths('/super/auth/login'),
      operationId: 'platformLogin',
      summary: 'Sign in as a platform admin',
      description: 'The token lasts 8 hours and opens the routes under `/super`, and no tenant.',
      limit: 'login',
      body: credentials,
      responses: { 200: z.object(bearer) },
      errors: ['invalid_credential'],
      handle: async ({ body }) => {
        const { token } = await deps.login.platformAdmin(body.email, body.password);
        return { status: 200, body: { token, token_type: 'Bearer', expires_in: PLATFORM_TOKEN_SECONDS } };
      },
    }),
  ]);
