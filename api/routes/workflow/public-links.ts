import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Jobs } from '../../../application/workflow/jobs.ts';
import type { PublicLinks } from '../../../application/workflow/public-links.ts';
import type { PageRequest } from '../../../domain/core/projection.ts';
import { linksOf } from '../../../projections/workflow/public-links.ts';
import type { Route } from '../../http/route.ts';
import { idParams, timestamp, uuid } from '../../http/schemas.ts';
import { onceShown } from '../identity/api-tokens.ts';
import { creation, gone, listReply, one, pagedList, removal } from '../replies.ts';
import { bothPaths, publicRoute, scopedRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly jobs: Jobs;
  readonly publicLinks: PublicLinks;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant/jobs/:id/links';
const PUBLIC = '/public/validate';

const newLink = z.object({
  page_slug: z
    .string()
    .regex(/^[a-z0-9][a-z0-9_-]{0,99}$/, 'A slug has lower-case letters, digits, - and _.'),
  expires_in: z.enum(['1d', '7d', '30d', '90d']).default('30d'),
});

const madeLinkView = z
  .object({
    id: z.string(),
    token: onceShown,
    url: z
      .string()
      .optional()
      .meta({ description: 'Path that contains the token; shown together with the token.' }),
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

/** Public links of jobs (specification, Access tokens; decisions, section 6, Public link). */
export const publicLinkRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('links');

  return tagged('Public links', [
    scopedRoute({
      ...creation(madeLinkView, newLink),
      path: BASE,
      operationId: 'createLink',
      summary: 'Create a public link to the page of a job',
      description:
        'Only this answer contains `token` and `url`. Anybody with the link gets the ids of its job and ' +
        'record until the link ends.',
      scope: 'workflow:execute',
      params: idParams,
      errors: ['constraint_violated'],
      handle: async ({ principal: { tenantId }, params, body, context }) => {
        const wanted = { pageSlug: body.page_slug, expiresIn: body.expires_in };
        const made = await deps.publicLinks.create(tenantId, params.id, wanted, context);
        const { id, token, expiresAt: expires_at, position } = made;
        const shown = { id, token, url: token && `${PUBLIC}/${token}`, expires_at };
        return { status: 201, body: shown, position, secrets: ['token', 'url'] };
      },
    }),

    scopedRoute({
      ...pagedList(linkView),
      path: BASE,
      operationId: 'listLinks',
      summary: 'The public links of a job, newest first, including ended ones',
      description: 'Each with the time at which it ends or was revoked.',
      scope: 'workflow:read',
      params: idParams,
      reads: ['links'],
      handle: async ({ principal: { tenantId }, params, query }) => {
        await deps.jobs.find(tenantId, params.id);
        const find = (page: PageRequest) => linksOf(reader, tenantId, params.id, page);
        return listReply(query, find, ({ job_id: _job, ...link }) => link);
      },
    }),

    scopedRoute({
      ...removal(idParams.extend({ link_id: uuid })),
      path: `${BASE}/:link_id`,
      operationId: 'revokeLink',
      summary: 'Revoke a public link at once; revoking it again changes nothing',
      description: 'Later requests to the link get 404.',
      scope: 'workflow:execute',
      handle: async ({ principal, params: { id, link_id: linkId }, context }) =>
        gone(await deps.publicLinks.revoke(principal.tenantId, id, linkId, context)),
    }),

    publicRoute({
      ...one('get', targetView, z.object({ token: z.string().max(200) })),
      ...bothPaths(`${PUBLIC}/:token`),
      operationId: 'validateLink',
      summary: 'The job behind a public link',
      description: 'An unknown, ended or revoked link gets the same 404.',
      limit: 'public',
      reads: ['links'],
      handle: async ({ params }) => {
        const { job_id, entity_id, page_slug, expires_at } = await deps.publicLinks.validate(params.token);
        const body = { job_id, entity_id, page_slug, expires_at };
        return { status: 200, body, headers: { 'X-Robots-Tag': 'noindex' } };
      },
    }),
  ]);
};
