import { z } from 'zod';
import type { Operations } from '../../../application/operations/operations.ts';
import type { Route } from '../../http/route.ts';
import { ok } from '../replies.ts';
import { bothPaths, platformRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly operations: Operations;
}

const projectionView = z
  .object({
    name: z.string(),
    generation: z.string(),
    state: z.enum(['active', 'building']),
    checkpoint: z.string().optional(),
    parked: z.array(
      z.object({
        tenant: z.string(),
        event_id: z.string(),
        error: z.string(),
        since: z.string(),
        attempts: z.int(),
      }),
    ),
  })
  .meta({ id: 'Projection' });

const projectionParams = z.object({ name: z.string().max(100) });

/** Routes for platform admins that list and rebuild read models, and retry parked tenants. */
export const projectionRoutes = (deps: Deps): Route[] =>
  tagged('Platform', [
    platformRoute({
      method: 'get',
      ...bothPaths('/super/projections'),
      operationId: 'listProjections',
      summary: 'Read models: generations, checkpoints and parked tenants',
      description:
        'Shows for each read model how far it has folded the event log, and tenants whose events could not ' +
        'be folded.',
      responses: { 200: z.array(projectionView) },
      handle: async () => ok(await deps.operations.projections()),
    }),

    platformRoute({
      method: 'post',
      ...bothPaths('/super/projections/:name/retry'),
      operationId: 'retryProjection',
      summary: 'Resume a parked tenant',
      description:
        'Use it after the cause of the failure was repaired. The read model continues with the event that ' +
        'failed.',
      params: projectionParams,
      body: z.object({ tenant: z.string().max(64) }),
      responses: { 202: z.object({ projection: z.string(), tenant: z.string() }) },
      handle: async ({ params: { name }, body: { tenant }, context }) => {
        const position = await deps.operations.retry(name, tenant, context);
        return { status: 202, body: { projection: name, tenant }, position };
      },
    }),

    platformRoute({
      method: 'post',
      ...bothPaths('/super/projections/:name/rebuild'),
      operationId: 'rebuildProjection',
      expensive: true,
      summary: 'Rebuild a read model beside the active one; the new one takes over when it has caught up',
      description: 'The active read model answers until the new one has caught up, so reads have no gap.',
      params: projectionParams,
      responses: { 202: z.object({ projection: z.string(), generation: z.string() }) },
      errors: ['conflict'],
      handle: async ({ params: { name } }) => ({
        status: 202,
        body: { projection: name, generation: await deps.operations.rebuild(name) },
      }),
    }),
  ]);
