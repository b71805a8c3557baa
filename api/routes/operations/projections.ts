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

/** Read models, and retries of their parked tenants, for platform admins. */
export const projectionRoutes = (deps: Deps): Route[] =>
  tagged('Platform', [
    platformRoute({
      method: 'get',
      ...bothPaths('/super/projections'),
      operationId: 'listProjections',
      summary: 'Read models: generations, how far they have folded, tenants that a poison event stopped',
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
      summary: 'Take a parked tenant up again',
      description:
        'Use it after the cause of the failure was repaired. The events of the tenant are folded from where ' +
        'they stopped.',
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
      summary: 'Build a read model anew beside the one that answers; it takes over when it has caught up',
      description: 'The present read model answers until the new one has caught up, so nobody sees a gap.',
      params: projectionParams,
      responses: { 202: z.object({ projection: z.string(), generation: z.string() }) },
      handle: async ({ params: { name } }) => ({
        status: 202,
        body: { projection: name, generation: await deps.operations.rebuild(name) },
      }),
    }),
  ]);
