import { createHash } from 'node:crypto';
import { parseCookie, stringifySetCookie } from 'cookie';
import { z } from 'zod';
import { TENANT_TOKEN_SECONDS } from '../../../application/identity/authentication-claims.ts';
import type { Sso, SsoSettings } from '../../../application/identity/sso.ts';
import { TRANSACTION_MS } from '../../../application/identity/sso-transactions.ts';
import { DomainError } from '../../../domain/core/errors.ts';
import { isTenantId } from '../../../domain/tenancy/tenant.ts';
import type { Route } from '../../http/route.ts';
import { bothPaths, publicRoute, tagged } from '../route-kinds.ts';
import { signedIn, signedInAnswer } from './auth.ts';

interface Deps {
  readonly sso: Sso;
  readonly ssoSettings: SsoSettings;
}

const CALLBACK = '/auth/sso/callback';

/** The format of each `state` that this server generates; any other text is refused. */
const STATE = /^[A-Za-z0-9_-]{43}$/;

/** Answers with these headers are not cached, and browsers do not send the address as a referrer. */
const PRIVATE = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };

const start = z.object({
  return_to: z.string().max(4_000).optional().meta({
    description: 'Where to send the browser with the token in the fragment: a URL of an allowed origin.',
  }),
});
const tenantParams = z.object({ tenant: z.string().refine(isTenantId) });

const callback = z.object({
  code: z
    .string()
    .max(8_192)
    .optional()
    .meta({ description: 'The authorization code from the identity provider.' }),
  state: z
    .string()
    .max(512)
    .optional()
    .meta({ description: 'The `state` that this server sent to the provider.' }),
  iss: z.string().max(2_048).optional().meta({ description: 'The issuer of the identity provider.' }),
  error: z.string().max(512).optional().meta({ description: 'Why the provider refused the sign-in.' }),
});

/** One cookie for each sign-in, so that two tabs do not conflict. Plain http cannot set `__Secure-` cookies. */
const cookieName = (state: string, secure: boolean): string =>
  `${secure ? '__Secure-' : ''}sso_${createHash('sha256').update(state).digest('hex').slice(0, 24)}`;

const cookie = (state: string, secure: boolean, value: string): string =>
  stringifySetCookie({
    name: cookieName(state, secure),
    value,
    path: CALLBACK,
    maxAge: value === '' ? 0 : TRANSACTION_MS / 1000,
    httpOnly: true,
    sameSite: 'lax',
    secure,
  });

const withToken = (returnTo: string, token: string): string => {
  const values = { token, token_type: 'Bearer', expires_in: String(TENANT_TOKEN_SECONDS) };
  return `${returnTo}#${new URLSearchParams(values).toString()}`;
};

/** Single sign-on for browsers (decisions, section 3). Served with and without `/api/v1`. */
export const ssoRoutes = (deps: Deps): Route[] =>
  tagged('Authentication', [
    publicRoute({
      method: 'get',
      ...bothPaths('/auth/sso/:tenant/start'),
      operationId: 'startSso',
      summary: 'Sign in with single sign-on: redirects the browser to the tenant’s identity provider',
      description:
        'Open this address in a browser. After the sign-in, the browser comes back to the callback, and ' +
        'from there to `return_to` if one was given. A platform admin configures the provider with `sso` of ' +
        'the tenant.',
      limit: 'login',
      params: tenantParams,
      query: start,
      responses: { 302: null },
      errors: ['tenant_suspended'],
      handle: async ({ params: { tenant }, query, origin: asked }) => {
        const origin = deps.ssoSettings.publicUrl ?? asked();
        const begun = await deps.sso.start(tenant, query.return_to, `${origin}${CALLBACK}`);
        const kept = cookie(begun.state, origin.startsWith('https:'), begun.sealed);
        return { status: 302, headers: { ...PRIVATE, Location: begun.url, 'Set-Cookie': kept } };
      },
    }),

    publicRoute({
      method: 'get',
      ...bothPaths(CALLBACK),
      operationId: 'finishSso',
      summary: 'Where the identity provider sends the browser back to',
      description:
        'Called by the browser on return from the identity provider, not by clients. The answer is that ' +
        'of a login, or a redirect to `return_to` with the token in the fragment.',
      limit: 'login',
      query: callback,
      openQuery: true,
      responses: { 200: signedInAnswer, 302: null },
      errors: ['invalid_credential', 'tenant_suspended'],
      handle: async ({ query, headers: given, requestId, origin }) => {
        const { code, state = '', iss, error } = query;
        if (!STATE.test(state)) {
          throw new DomainError('invalid_credential', 'The sign-in was not completed. Start again.');
        }
        const secure = (deps.ssoSettings.publicUrl ?? origin()).startsWith('https:');
        const sealed = parseCookie(given.cookie ?? '')[cookieName(state, secure)];
        const session = await deps.sso.finish(
          { state, sealed, code, iss, refused: error !== undefined },
          requestId,
        );
        const { returnTo, token, position } = session;
        const headers = { ...PRIVATE, 'Set-Cookie': cookie(state, secure, '') };
        if (returnTo === undefined) return { status: 200, headers, body: signedIn(session), position };
        return { status: 302, headers: { ...headers, Location: withToken(returnTo, token) }, position };
      },
    }),
  ]);
