import { z } from 'zod';
import type { ActivityLog } from '../../../application/audit/activity-log.ts';
import type { EventExport } from '../../../application/audit/event-export.ts';
import type { OpenedEvent } from '../../../application/audit/opened-views.ts';
import type { At, TimeTravel } from '../../../application/audit/time-travel.ts';
import { metadataSchema } from '../../../application/core/events/event-codec.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import { invalidAt } from '../../../domain/core/errors.ts';
import { decodePosition, nextPosition } from '../../http/cursor.ts';
import { NDJSON, wantsNdjson } from '../../http/ndjson.ts';
import type { Route } from '../../http/route.ts';
import { instant, limit, position, timestamp } from '../../http/schemas.ts';
import { ChunkedBody } from '../../http/stream.ts';
import { download, list, ok, one, pageQuery, shown } from '../replies.ts';
import { adminRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly events: Pick<EventStore, 'parsePosition'>;
  readonly activityLog: ActivityLog;
  readonly eventExport: EventExport;
  readonly timeTravel: TimeTravel;
}

const line = z
  .object({
    at: timestamp,
    actor: z.object({
      kind: metadataSchema.shape.actor.shape.kind,
      id: z.string(),
      email: z.string().meta({ description: 'The current e-mail; empty if there is none.' }),
    }),
    impersonated_by: z.string().optional(),
    action: z.string(),
    subject: z.object({ kind: z.string(), id: z.string() }),
    position,
    request_id: z.string(),
  })
  .meta({ id: 'LogLine' });

const pastState = z
  .object({
    stream: z.string(),
    revision: z.int().meta({ description: 'Revision of the last event that this state includes.' }),
    position,
    at: timestamp.meta({ description: 'Time of that event.' }),
    state: z.unknown().meta({ description: 'Without credentials; an erased text reads `[erased]`.' }),
  })
  .meta({ id: 'PastState' });

const auditedEvent = z
  .object({
    position,
    stream: z.string(),
    revision: z.number().int(),
    id: z.string(),
    type: z.string(),
    data: z.record(z.string(), z.unknown()).nullable().meta({
      description:
        'Decrypted; an erased text reads `[erased]`, a credential `[secret]`. Null if the stored text is damaged.',
    }),
    metadata: metadataSchema.loose().or(z.record(z.string(), z.unknown())).nullable(),
    sealed: z
      .object({ data: z.string(), metadata: z.string() })
      .meta({ description: 'The stored texts, exactly as the hash chain covers them.' }),
  })
  .meta({ id: 'AuditedEvent' });

const word = z.string().max(500).optional();

const logQuery = pageQuery.extend({
  actor: word.meta({ description: 'Id of an actor.' }),
  action: word.meta({ description: 'An action, as the lines show it.' }),
  from: instant.optional().meta({ description: 'Lines at this instant or later.' }),
  to: instant.optional().meta({ description: 'Lines before this instant.' }),
});

const eventQuery = z.object({
  stream: word.meta({ description: 'Name of one stream.' }),
  category: word.meta({
    description: 'The category: the part of the stream’s name between `.` and `-`.',
  }),
  type: word.meta({ description: 'A type of event, such as `MessageSent`.' }),
  actor: word.meta({ description: 'Id of an actor.' }),
  from: instant.optional().meta({ description: 'Events at this instant or later.' }),
  to: instant.optional().meta({ description: 'Events before this instant.' }),
  after: position.optional().meta({ description: 'Events after this position in the log.' }),
  limit: limit(),
});

const viewOf = ({ stored, data, metadata }: OpenedEvent) =>
  shown(auditedEvent, {
    ...stored,
    data,
    metadata,
    sealed: { data: stored.data, metadata: stored.metadata },
  });

/**
 * The activity log, past states of streams, and the export of events, for admins and auditors (decisions, section 11;
 * docs/audit-format.md, docs/time-travel.md).
 */
export const auditRoutes = (deps: Deps): Route[] =>
  tagged('Audit', [
    adminRoute({
      ...list(line, logQuery),
      path: '/api/v1/tenant/audit/event-log',
      operationId: 'listEventLog',
      summary:
        'The event log for auditors, newest first: one line for each event and for each request during an impersonation',
      description:
        'Each line names the actor, the action and the subject. Filter by `actor`, `action`, `from` and ' +
        '`to`.',
      handle: async ({ principal, query: { cursor: given, ...query } }) => {
        const page = await deps.activityLog.page(principal.tenantId, {
          ...query,
          before: decodePosition(given, (text) => deps.events.parsePosition(text)),
        });
        return { status: 200, body: page.lines, next: nextPosition(page.next) };
      },
    }),

    adminRoute({
      ...one('get', pastState, z.object({ stream: z.string().max(1000) })),
      path: '/api/v1/tenant/audit/streams/:stream/state',
      operationId: 'readStreamState',
      summary: 'The past state of a stream at a position or an instant; the current state by default',
      description:
        'Folds the stream up to `at`, a position or an instant, and shows the state of the aggregate then.',
      query: z.object({
        at: z.string().max(200).optional().meta({
          description: 'A position, or an instant (RFC 3339). Events at exactly that instant are included.',
        }),
      }),
      handle: async ({ principal, params, query }) =>
        ok(
          await deps.timeTravel.stateAt(
            principal.tenantId,
            params.stream,
            await pointInTimeOf(deps, query.at),
          ),
        ),
    }),

    adminRoute({
      ...list(auditedEvent, eventQuery),
      path: '/api/v1/tenant/audit/events',
      operationId: 'listAuditEvents',
      expensive: true,
      summary:
        'Events in the order of the log, in pages; with `Accept: application/x-ndjson` all events, one line each',
      description:
        '`data` and `metadata` are decrypted; `sealed` holds the stored texts, exactly as the hash chain ' +
        'covers them. `Accept: application/x-ndjson` streams all events.',
      produces: NDJSON,
      handle: async ({ principal: { tenantId }, query: { limit: most, after, ...query }, headers }) => {
        const asked = { ...query, after: positionOf(deps, after) };
        if (wantsNdjson(headers.accept)) {
          return download(
            'events.ndjson',
            NDJSON,
            new ChunkedBody(deps.eventExport.export(tenantId, asked), deps.eventExport.stopping),
          );
        }
        const page = await deps.eventExport.page(tenantId, asked, most);
        return {
          status: 200,
          body: page.events.map(viewOf),
          next: page.next === undefined ? undefined : { after: page.next },
        };
      },
    }),
  ]);

/** @throws 400 for a text that is not a position of the log */
const positionOf = (deps: Deps, text: string | undefined): Position | undefined => {
  if (text === undefined) return undefined;
  const found = deps.events.parsePosition(text);
  if (found !== undefined) return found;
  throw invalidAt('after', 'invalid_format', 'This is not a position.');
};

/** @throws 400 for a text that is neither a position of this log nor an instant */
const pointInTimeOf = async (deps: Deps, at: string | undefined): Promise<At | undefined> => {
  if (at === undefined) return undefined;
  const time = instant.safeParse(at);
  return time.success
    ? { ms: Date.parse(time.data) }
    : { position: await deps.timeTravel.positionOf(at, 'at') };
};
