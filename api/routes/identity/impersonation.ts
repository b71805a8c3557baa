import { z } from 'zod';
import { SHORT_TOKEN_SECONDS } from '../../../application/identity/authentication-claims.ts';
import type { Impersonation } from '../../../application/identity/impersonation.ts';
import { isTenantId } from '../../../domain/tenancy/tenant.ts';
import type { Route } from '../../http/route.ts';
import { text } from '../../http/schemas.ts';
import { bothPaths, platformRoute, tagged } from '../route-kinds.ts';
import { bearerReply, onceShown } from './api-tokens.ts';
import { bearer } from './auth.ts';

interface Deps {
  readonly impersonation: Impersonation;
}

/** Impersonation of a tenant's user (specification, Authentication 3; decisions, section 3). */
export const impersonationRoutes = (deps: Deps): Route[] =>
  tagged('Platform', [
    platformRoute({
      method: 'post',
      ...bothPaths('/super/impersonate/:tenant_id'),
      operationId: 'impersonate',
      summary: 'A token for acting as a user of a tenant, by default as its oldest active admin',
      description:
        'The token lasts one hour. Each event that it causes records the e-mail of the platform admin, ' +
        'and each request with it is a line in the tenant’s event log. Default of `user_id`: the oldest ' +
        'active admin.',
      params: z.object({ tenant_id: z.string().refine(isTenantId) }),
      body: z.object({
        user_id: z.string().max(500).optional(),
        reason: text({ max: 500 }).optional().meta({ description: 'Recorded in the tenant’s event log.' }),
      }),
      responses: {
        200: z.object({ ...bearer, token: onceShown }),
      },
      errors: ['tenant_suspended', 'conflict'],
      reads: ['users'],
      handle: async ({ principal, params, body, context }) => {
        const whom = { userId: body.user_id, reason: body.reason };
        const started = await deps.impersonation.start(params.tenant_id, whom, principal.email, context);
        return bearerReply(200, started, SHORT_TOKEN_SECONDS);
      },
    }),
  ]);
