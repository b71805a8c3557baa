import { z } from 'zod';
import { SHORT_TOKEN_SECONDS } from '../../../application/identity/authentication-claims.ts';
import type { Impersonation } from '../../../application/identity/impersonation.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { isTenantId } from '../../../domain/tenancy/tenant.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { text } from '../../http/schemas.ts';
import { platformRoute } from '../route-kinds.ts';

interface Deps {
  readonly ids: Ids;
  readonly impersonation: Impersonation;
}

/** Impersonation of a tenant's user (specification, Authentication 3; decisions, section 3). */
export const impersonationRoutes = (deps: Deps): Route[] => [
  platformRoute({
    method: 'post',
    path: '/super/impersonate/:tenant_id',
    aliases: ['/api/v1/super/impersonate/:tenant_id'],
    operationId: 'impersonate',
    summary: 'A token for acting as a user of a tenant, by default as its oldest active admin',
    tag: 'Platform',
    params: z.object({ tenant_id: z.string().refine(isTenantId) }),
    body: z.object({
      user_id: z.string().max(500).optional(),
      reason: text({ max: 500 }).optional().meta({ description: 'Kept in the tenant’s event log.' }),
    }),
    responses: {
      200: z.object({
        token: z
          .string()
          .optional()
          .meta({ description: 'Given once: not in the answer to a repeated Idempotency-Key.' }),
        token_type: z.literal('Bearer'),
        expires_in: z.int(),
      }),
    },
    errors: ['not_found', 'tenant_suspended', 'conflict'],
    reads: ['users'],
    handle: async (request) => {
      const { params, body, principal } = request;
      const started = await deps.impersonation.start(
        params.tenant_id,
        { userId: body.user_id, reason: body.reason },
        principal.email,
        contextOf(deps, request),
      );
      return {
        status: 200,
        body: { token: started.token, token_type: 'Bearer', expires_in: SHORT_TOKEN_SECONDS },
        position: started.position,
        secrets: ['token'],
      };
    },
  }),
];
