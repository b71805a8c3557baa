import { z } from 'zod';
import type { At, TimeTravel } from '../../../application/audit/time-travel.ts';
import type { Route } from '../../http/route.ts';
import { instant, position, timestamp } from '../../http/schemas.ts';
import { ok } from '../replies.ts';
import { adminRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly timeTravel: TimeTravel;
}

/** Past states of streams (decisions, section 11; docs/time-travel.md). */

const pastState = z
  .object({
    stream: z.string(),
    revision: z.int().meta({ description: 'Of the last event that counts.' }),
    position,
    at: timestamp.meta({ description: 'When that event occurred.' }),
    state: z.unknown().meta({ description: 'Without credentials; an erased text reads `[erased]`.' }),
  })
  .meta({ id: 'PastState' });

export const streamStateRoutes = (deps: Deps): Route[] =>
  tagged('Audit', [
    adminRoute({
      method: 'get',
      path: '/api/v1/tenant/audit/streams/:stream/state',
      operationId: 'readStreamState',
      summary:
        'A stream’s state as it stood at a place in the log or at an instant; as it is unless said otherwise',
      description:
        'Folds the stream up to `at`, a position or an instant, and shows the state of the aggregate then.',
      params: z.object({ stream: z.string().max(1000) }),
      query: z.object({
        at: z.string().max(200).optional().meta({
          description: 'A position, or an instant (RFC 3339). What happened at that very instant counts.',
        }),
      }),
      responses: { 200: pastState },
      handle: async ({ principal, params, query }) =>
        ok(await deps.timeTravel.stateAt(principal.tenantId, params.stream, await placeOf(deps, query.at))),
    }),
  ]);

/** @throws 400 for a text that is neither a position of this log nor an instant */
const placeOf = async (deps: Deps, at: string | undefined): Promise<At | undefined> => {
  if (at === undefined) return undefined;
  const time = instant.safeParse(at);
  return time.success ? { ms: Date.parse(time.data) } : { position: await deps.timeTravel.placeOf(at, 'at') };
};
