import { createHash } from 'node:crypto';
import { z } from 'zod';
import { TENANT_TOKEN_SECONDS } from '../../application/authentication.ts';
import type { Principal } from '../../application/principal.ts';
import type { SsoSession } from '../../application/sso.ts';
import { TRANSACTION_MS } from '../../application/sso-transactions.ts';
import { DomainError } from '../../domain/errors.ts';
import { isTenantId } from '../../domain/tenancy/tenant.ts';
import { cookieIn, setCookie } from '../http/cookies.ts';
import { type Route, route } from '../http/route.ts';
import type { App } from './app.ts';
import { signedIn, signedInAnswer } from './auth.ts';

/** Single sign-on, as a browser goes through it (decisions, section 3). Served with and without the prefix. */

const TAG = 'Authentication';
const CALLBACK = '/auth/sso/callback';

/** As the provider's library makes it: nothing else can be one of ours. */
const STATE = /^[A-Za-z0-9_-]{43}$/;

/** Nothing of these answers is kept, and no address of theirs is told to the next page. */
const PRIVATE = { 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' };

const start = z.object({
  return_to: z.string().max(4_000).optional().meta({
    description: 'Where to send the browser with the token in the fragment: a URL of an allowed origin.',
  }),
});
const tenantParams = z.object({ tenant: z.string().refine(isTenantId) });

const callback = z.object({
  code: z.string().max(8_192).optional(),
  state: z.string().max(512).optional(),
  iss: z.string().max(2_048).optional(),
  error: z.string().max(512).optional(),
});

/** One cookie per sign-in, so that those of two tabs do not meet; the prefix keeps plain http from setting it. */
const cookieName = (state: string, secure: boolean): string =>
  `${secure ? '__Secure-' : ''}sso_${createHash('sha256').update(state).digest('hex').slice(0, 24)}`;

const cookie = (state: string, secure: boolean, value: string): string =>
  setCookie({
    name: cookieName(state, secure),
    value,
    path: CALLBACK,
    maxAgeSeconds: value === '' ? 0 : TRANSACTION_MS / 1000,
    secure,
  });

const withToken = (returnTo: string, token: string): string => {
  const values = { token, token_type: 'Bearer', expires_in: String(TENANT_TOKEN_SECONDS) };
  return `${returnTo}#${new URLSearchParams(values).toString()}`;
};

export const ssoRoutes = (app: App): Route[] => {
  const originOf = (request: { origin: () => string }): string =>
    app.ssoSettings.publicUrl ?? request.origin();

  const answer = ({ token, user, tenantId, returnTo, position }: SsoSession, cleared: string) => {
    const headers = { ...PRIVATE, 'Set-Cookie': cleared };
    if (returnTo === undefined) {
      return { status: 200, headers, body: signedIn(token, user, tenantId), position };
    }
    return { status: 302, headers: { ...headers, Location: withToken(returnTo, token) }, position };
  };

  return [
    route<Principal, typeof tenantParams, typeof start>({
      method: 'get',
      path: '/auth/sso/:tenant/start',
      aliases: ['/api/v1/auth/sso/:tenant/start'],
      operationId: 'startSso',
      summary: 'Sign in at the tenant’s identity provider: sends the browser there',
      tag: TAG,
      access: { kind: 'public' },
      limit: 'login',
      params: tenantParams,
      query: start,
      responses: { 302: null },
      errors: ['tenant_suspended'],
      handle: async (request) => {
        const origin = originOf(request);
        const { tenant } = request.params;
        const begun = await app.sso.start(tenant, request.query.return_to, `${origin}${CALLBACK}`);
        const kept = cookie(begun.state, origin.startsWith('https:'), begun.sealed);
        return { status: 302, headers: { ...PRIVATE, Location: begun.url, 'Set-Cookie': kept } };
      },
    }),

    route<Principal, undefined, typeof callback>({
      method: 'get',
      path: CALLBACK,
      aliases: [`/api/v1${CALLBACK}`],
      operationId: 'finishSso',
      summary: 'Where the identity provider sends the browser back to',
      tag: TAG,
      access: { kind: 'public' },
      limit: 'login',
      query: callback,
      responses: { 200: signedInAnswer, 302: null },
      errors: ['invalid_credential', 'tenant_suspended'],
      handle: async (request) => {
        const { code, state = '', iss, error } = request.query;
        if (!STATE.test(state)) {
          throw new DomainError('invalid_credential', 'The sign-in was not completed. Begin again.');
        }
        const secure = originOf(request).startsWith('https:');
        const sealed = cookieIn(request.headers.cookie, cookieName(state, secure));
        const session = await app.sso.finish(
          { state, sealed, code, iss, refused: error !== undefined },
          request.requestId,
        );
        return answer(session, cookie(state, secure, ''));
      },
    }),
  ];
};
