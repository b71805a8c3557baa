import { z } from 'zod';
import type { EventLog } from '../../../application/audit/event-log.ts';
import { metadataSchema } from '../../../application/core/events/event-codec.ts';
import type { Position } from '../../../application/ports/event-store.ts';
import { invalid } from '../../../domain/core/errors.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import type { Route } from '../../http/route.ts';
import { cursor, instant, limit, position, timestamp } from '../../http/schemas.ts';
import { adminRoute } from '../route-kinds.ts';

interface Deps {
  readonly eventLog: EventLog;
}

/** The event log: actions of people and credentials (decisions, section 11). */

const line = z
  .object({
    at: timestamp,
    actor: z.object({
      kind: metadataSchema.shape.actor.shape.kind,
      id: z.string(),
      email: z.string().meta({ description: 'As it is now; empty where there is none.' }),
    }),
    impersonated_by: z.string().optional(),
    action: z.string(),
    subject: z.object({ kind: z.string(), id: z.string() }),
    position,
    request_id: z.string(),
  })
  .meta({ id: 'LogLine' });

export const eventLogRoutes = (deps: Deps): Route[] => [
  adminRoute({
    method: 'get',
    path: '/api/v1/tenant/audit/event-log',
    operationId: 'listEventLog',
    summary: 'Who did what, newest first: a line per event, and per request under impersonation',
    tag: 'Audit',
    query: z.object({
      limit: limit(),
      cursor,
      actor: z.string().max(500).optional().meta({ description: 'Id of an actor.' }),
      action: z.string().max(500).optional(),
      from: instant.optional(),
      to: instant.optional(),
    }),
    responses: { 200: z.array(line) },
    handle: async (request) => {
      const { cursor: given, ...query } = request.query;
      const page = await deps.eventLog.page(request.principal.tenantId, {
        ...query,
        before: beginOf(deps, given),
      });
      const next = page.next === undefined ? undefined : nextPage({ values: [page.next], id: '' });
      return { status: 200, body: page.lines, next };
    },
  }),
];

/** @throws 400 for a cursor of another list */
const beginOf = (deps: Deps, given: string | undefined): Position | undefined => {
  const end = decodeCursor(given);
  if (end === undefined) return undefined;
  const [text] = end.values;
  const found = typeof text === 'string' ? deps.eventLog.parsePosition(text) : undefined;
  if (found !== undefined) return found;
  throw invalid([{ path: 'cursor', code: 'invalid_format', message: 'This is not a cursor of this list.' }]);
};
