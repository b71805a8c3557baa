import { z } from 'zod';
import type { EventLog } from '../../../application/audit/event-log.ts';
import type { OpenedEvent } from '../../../application/audit/opened-views.ts';
import type { Replay } from '../../../application/audit/replay.ts';
import { metadataSchema } from '../../../application/core/events/event-codec.ts';
import type { EventStore, Position } from '../../../application/ports/event-store.ts';
import { invalid } from '../../../domain/core/errors.ts';
import { NDJSON, wantsNdjson } from '../../http/ndjson.ts';
import type { Route } from '../../http/route.ts';
import { instant, limit, position } from '../../http/schemas.ts';
import { Pieces } from '../../http/stream.ts';
import { download } from '../replies.ts';
import { adminRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly events: Pick<EventStore, 'parsePosition'>;
  readonly eventLog: EventLog;
  readonly replay: Replay;
}

/** Every event of the tenant, for auditors (decisions, section 11; docs/audit-format.md). */

const auditedEvent = z
  .object({
    position,
    stream: z.string(),
    revision: z.number().int(),
    id: z.string(),
    type: z.string(),
    data: z.record(z.string(), z.unknown()).nullable().meta({
      description: 'Opened: an erased text reads `[erased]`, a credential `[secret]`. Null: damaged.',
    }),
    metadata: metadataSchema.loose().or(z.record(z.string(), z.unknown())).nullable(),
    sealed: z
      .object({ data: z.string(), metadata: z.string() })
      .meta({ description: 'The exact stored texts, which the hash chain is over.' }),
  })
  .meta({ id: 'AuditedEvent' });

const word = z.string().max(500).optional();

const viewOf = ({ stored, data, metadata }: OpenedEvent) => ({
  position: stored.position,
  stream: stored.stream,
  revision: stored.revision,
  id: stored.id,
  type: stored.type,
  data,
  metadata,
  sealed: { data: stored.data, metadata: stored.metadata },
});

export const auditEventRoutes = (deps: Deps): Route[] =>
  tagged('Audit', [
    adminRoute({
      method: 'get',
      path: '/api/v1/tenant/audit/events',
      operationId: 'listAuditEvents',
      expensive: true,
      summary:
        'Events in the order of the log, in pages; with `Accept: application/x-ndjson` all, a line each',
      description:
        '`data` and `metadata` are opened for reading; `sealed` holds the exact stored texts, which the ' +
        'hash chain is over. `Accept: application/x-ndjson` streams all events.',
      query: z.object({
        stream: word.meta({ description: 'Name of one stream.' }),
        category: word.meta({ description: 'What a stream’s name has between `.` and `-`.' }),
        type: word.meta({ description: 'A type of event, such as `MessageSent`.' }),
        actor: word.meta({ description: 'Id of an actor.' }),
        from: instant.optional().meta({ description: 'Events since then.' }),
        to: instant.optional().meta({ description: 'Events before it.' }),
        after: position.optional().meta({ description: 'Events after this place in the log.' }),
        limit: limit(),
      }),
      responses: { 200: z.array(auditedEvent) },
      produces: NDJSON,
      handle: async ({ principal: { tenantId }, query: { limit: most, after, ...query }, headers }) => {
        const asked = { ...query, after: placeOf(deps, after) };
        if (wantsNdjson(headers.accept)) {
          return download(
            'events.ndjson',
            NDJSON,
            new Pieces(deps.replay.export(tenantId, asked), deps.replay.stopping),
          );
        }
        const page = await deps.replay.page(tenantId, asked, most);
        return {
          status: 200,
          body: page.events.map(viewOf),
          next: page.next === undefined ? undefined : { after: page.next },
        };
      },
    }),
  ]);

/** @throws 400 for a text that is not a position of the log */
const placeOf = (deps: Deps, text: string | undefined): Position | undefined => {
  if (text === undefined) return undefined;
  const found = deps.events.parsePosition(text);
  if (found !== undefined) return found;
  throw invalid([{ path: 'after', code: 'invalid_format', message: 'This is not a position.' }]);
};
