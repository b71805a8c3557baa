import { z } from 'zod';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { PasswordChanges } from '../../../application/identity/password-changes.ts';
import { iso } from '../../../domain/core/projection.ts';
import type { Route } from '../../http/route.ts';
import { timestamp } from '../../http/schemas.ts';
import { PASSWORD_PAGE_HEADERS, passwordPage } from '../../pages/password-page.ts';
import { gone, textAnswer } from '../replies.ts';
import { adminRoute, personRoute, publicRoute, tagged } from '../route-kinds.ts';
import { signedIn, signedInAnswer } from './auth.ts';
import { password } from './users.ts';

interface Deps {
  readonly passwordChanges: PasswordChanges;
  readonly ssoSettings: { readonly publicUrl?: string | undefined };
}

const BASE = '/api/v1/tenant';
const PAGE = '/auth/password-reset';
const given = z.string().min(1).max(1000);

const offered = z
  .object({
    url: z
      .string()
      .optional()
      .meta({ description: 'For the person; shown once, and absent from a replayed answer.' }),
    expires_at: timestamp,
  })
  .meta({ id: 'PasswordReset' });

/** Changes and resets of passwords (decision 47). */
export const passwordRoutes = (deps: Deps): Route[] =>
  tagged('Users', [
    personRoute({
      method: 'post',
      path: `${BASE}/me/password`,
      operationId: 'changeOwnPassword',
      summary: 'Change your own password',
      description:
        'Ends all sessions of the caller, including this one, and closes their sockets; continue with the ' +
        '`token` of the answer. A wrong current password is 422 `constraint_violated` and counts as a ' +
        'login attempt.',
      refuses: ['impersonation'],
      limit: 'login',
      body: z.object({ current_password: given, new_password: password }),
      responses: {
        200: signedInAnswer.extend({ token: z.string().optional() }).meta({ id: 'PasswordChanged' }),
      },
      errors: ['constraint_violated'],
      handle: async ({ principal: { tenantId, userId }, body, context }) => {
        const both = { current: body.current_password, next: body.new_password };
        const session = await deps.passwordChanges.change(tenantId, userId, both, context);
        const personal = [personKeyId(tenantId, userId)];
        return {
          status: 200,
          body: signedIn(session),
          position: session.position,
          secrets: ['token'],
          personal,
        };
      },
    }),

    adminRoute({
      method: 'post',
      path: `${BASE}/users/:id/password-reset`,
      operationId: 'offerPasswordReset',
      summary: 'Create a one-time link with which a person sets a new password',
      description:
        'Give `url` to the person. It opens a page, is valid once and for 24 hours, and replaces earlier ' +
        'links. The old password stays valid until a new one is set.',
      refuses: ['impersonation'],
      params: z.object({ id: z.string().max(128) }),
      responses: { 201: offered },
      errors: ['invalid_transition'],
      handle: async ({ principal: { tenantId }, params, context, origin }) => {
        const made = await deps.passwordChanges.createResetLink(tenantId, params.id, context);
        const url = made.link && `${deps.ssoSettings.publicUrl ?? origin()}${PAGE}#${made.link}`;
        const body = { url, expires_at: iso(made.expiresAt) };
        return { status: 201, body, position: made.position, secrets: ['url'] };
      },
    }),

    publicRoute({
      ...textAnswer('text/html'),
      path: PAGE,
      operationId: 'passwordResetPage',
      summary: 'The page of a one-time link',
      description: 'For browsers. The link’s secret is in the fragment, which is not sent to the server.',
      openQuery: true,
      handle: async () => ({ status: 200, headers: PASSWORD_PAGE_HEADERS, body: passwordPage() }),
    }),

    publicRoute({
      method: 'post',
      path: PAGE,
      operationId: 'resetPassword',
      summary: 'Set a new password with a one-time link',
      description:
        '`link` is the part of the URL behind `#`. Ends all sessions of the person. A link that is unknown, used, replaced ' +
        'or expired is 401 `invalid_credential`.',
      limit: 'login',
      body: z.object({ link: given, new_password: password }),
      responses: { 204: null },
      errors: ['invalid_credential'],
      handle: async ({ body, requestId }) =>
        gone(await deps.passwordChanges.reset(body.link, body.new_password, requestId)),
    }),
  ]);
