import { z } from 'zod';
import type { EventLog } from '../../../application/audit/event-log.ts';
import { metadataSchema } from '../../../application/core/events/event-codec.ts';
import type { EventStore } from '../../../application/ports/event-store.ts';
import { decodePosition, nextPosition } from '../../http/cursor.ts';
import type { Route } from '../../http/route.ts';
import { instant, position, timestamp } from '../../http/schemas.ts';
import { pageQuery } from '../replies.ts';
import { adminRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly events: Pick<EventStore, 'parsePosition'>;
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

export const eventLogRoutes = (deps: Deps): Route[] =>
  tagged('Audit', [
    adminRoute({
      method: 'get',
      path: '/api/v1/tenant/audit/event-log',
      operationId: 'listEventLog',
      summary: 'Who did what, newest first: a line per event, and per request under impersonation',
      description:
        'Each line names the actor, the action and the subject. Filter by `actor`, `action`, `from` and ' +
        '`to`.',
      query: pageQuery.extend({
        actor: z.string().max(500).optional().meta({ description: 'Id of an actor.' }),
        action: z.string().max(500).optional().meta({ description: 'As it stands in the lines.' }),
        from: instant.optional().meta({ description: 'Lines since then.' }),
        to: instant.optional().meta({ description: 'Lines before then.' }),
      }),
      responses: { 200: z.array(line) },
      handle: async ({ principal, query: { cursor: given, ...query } }) => {
        const page = await deps.eventLog.page(principal.tenantId, {
          ...query,
          before: decodePosition(given, (text) => deps.events.parsePosition(text)),
        });
        return { status: 200, body: page.lines, next: nextPosition(page.next) };
      },
    }),
  ]);
