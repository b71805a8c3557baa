import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import type { Jobs } from '../../../application/workflow/jobs.ts';
import type { PublicLinks } from '../../../application/workflow/public-links.ts';
import { linksOf } from '../../../projections/entities/links.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import { type Route, route } from '../../http/route.ts';
import { cursor, idParams, limit, timestamp, uuid } from '../../http/schemas.ts';
import { scopedRoute } from '../route-kinds.ts';

interface Deps {
  readonly ids: Ids;
  readonly jobs: Jobs;
  readonly publicLinks: PublicLinks;
  readonly readModels: ReadModels;
}

/** Public links of jobs (specification, Access tokens; decisions, section 6, Public link). */

const BASE = '/api/v1/tenant/jobs/:id/links';
const PUBLIC = '/public/validate';
const TAG = 'Public links';

const madeLinkView = z
  .object({
    id: z.string(),
    token: z
      .string()
      .optional()
      .meta({ description: 'Shown once: not in the answer to a repeated request.' }),
    url: z.string().optional().meta({ description: 'Path that holds the token; shown with it.' }),
    expires_at: timestamp,
  })
  .meta({ id: 'MadeLink' });

const linkView = z
  .object({
    id: z.string(),
    page_slug: z.string(),
    expires_at: timestamp,
    revoked_at: timestamp.nullable(),
    created_at: timestamp,
    created_by: z.object({ kind: z.string(), id: z.string() }),
  })
  .meta({ id: 'Link' });

const targetView = z
  .object({ job_id: z.string(), entity_id: z.string(), page_slug: z.string(), expires_at: timestamp })
  .meta({ id: 'LinkTarget' });

export const publicLinkRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('links');

  return [
    scopedRoute({
      method: 'post',
      path: BASE,
      operationId: 'createLink',
      summary: 'Make a public link to a page of a job',
      tag: TAG,
      scope: 'workflow:execute',
      params: idParams,
      body: z.object({
        page_slug: z
          .string()
          .regex(/^[a-z0-9][a-z0-9_-]{0,99}$/, 'A slug has lower-case letters, digits, - and _.'),
        expires_in: z.enum(['1d', '7d', '30d', '90d']).default('30d'),
      }),
      responses: { 201: madeLinkView },
      errors: ['constraint_violated'],
      handle: async (request) => {
        const { page_slug: pageSlug, expires_in: expiresIn } = request.body;
        const made = await deps.publicLinks.create(
          request.principal.tenantId,
          request.params.id,
          { pageSlug, expiresIn },
          contextOf(deps, request),
        );
        const { id, token, expiresAt: expires_at, position } = made;
        return {
          status: 201,
          body:
            token === undefined ? { id, expires_at } : { id, token, url: `${PUBLIC}/${token}`, expires_at },
          position,
          secrets: ['token', 'url'],
        };
      },
    }),

    scopedRoute({
      method: 'get',
      path: BASE,
      operationId: 'listLinks',
      summary: 'The public links of a job, newest first, ended ones too',
      tag: TAG,
      scope: 'workflow:read',
      params: idParams,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(linkView) },
      reads: ['links'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const { limit: size, cursor: at } = request.query;
        await deps.jobs.find(tenantId, request.params.id);
        const after = decodeCursor(at);
        const page = await linksOf(reader, tenantId, request.params.id, { limit: size, after });
        const body = page.docs.map(({ job_id: _job, ...link }) => link);
        return { status: 200, body, next: nextPage(page.next) };
      },
    }),

    scopedRoute({
      method: 'delete',
      path: `${BASE}/:link_id`,
      operationId: 'revokeLink',
      summary: 'Revoke a public link at once; again changes nothing',
      tag: TAG,
      scope: 'workflow:execute',
      params: idParams.extend({ link_id: uuid }),
      responses: { 204: null },
      handle: async (request) => {
        const { id, link_id: linkId } = request.params;
        const context = contextOf(deps, request);
        const position = await deps.publicLinks.revoke(request.principal.tenantId, id, linkId, context);
        return { status: 204, position };
      },
    }),

    route({
      method: 'get',
      path: `${PUBLIC}/:token`,
      aliases: [`/api/v1${PUBLIC}/:token`],
      operationId: 'validateLink',
      summary: 'What a public link leads to',
      tag: TAG,
      access: { kind: 'public' },
      limit: 'public',
      params: z.object({ token: z.string().max(200) }),
      responses: { 200: targetView },
      reads: ['links'],
      handle: async (request) => {
        const target = await deps.publicLinks.validate(request.params.token);
        return {
          status: 200,
          body: {
            job_id: target.jobId,
            entity_id: target.entityId,
            page_slug: target.pageSlug,
            expires_at: target.expiresAt,
          },
          headers: { 'X-Robots-Tag': 'noindex' },
        };
      },
    }),
  ];
};
