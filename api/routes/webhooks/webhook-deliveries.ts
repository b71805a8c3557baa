import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import type { WebhookDeliveries } from '../../../application/webhooks/deliveries.ts';
import type { Webhooks } from '../../../application/webhooks/subscriptions.ts';
import type { ScheduledDelivery } from '../../../domain/webhooks/delivery.ts';
import { deliveriesOf } from '../../../projections/webhooks/webhook-deliveries.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, idParams, limit, timestamp, uuid } from '../../http/schemas.ts';
import { personRoute } from '../route-kinds.ts';
import { TAG, WEBHOOKS } from './webhooks.ts';

interface Deps {
  readonly ids: Ids;
  readonly readModels: ReadModels;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly webhooks: Webhooks;
}

/** Deliveries of webhooks (specification, Webhooks; decisions, section 8). */

const deliveryView = z
  .object({
    id: z.string().meta({ description: 'Equal to the `id` of the envelope.' }),
    event: z.string(),
    status: z.enum(['pending', 'delivered', 'failed', 'dead']).meta({
      description: '`failed`: the URL was refused by the guard. `dead`: in the dead-letter log.',
    }),
    attempts: z.int(),
    response_code: z.int().nullable(),
    last_error: z.string().nullable().meta({ description: 'At most 500 characters.' }),
    created_at: timestamp,
    last_attempt_at: timestamp.nullable(),
    next_attempt_at: timestamp.nullable(),
  })
  .meta({ id: 'WebhookDelivery' });

const iso = (ms: number): string => new Date(ms).toISOString();
const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

const viewOf = (delivery: ScheduledDelivery): z.output<typeof deliveryView> => ({
  id: delivery.id,
  event: delivery.event,
  status: delivery.status,
  attempts: delivery.attempts,
  response_code: delivery.responseCode,
  last_error: delivery.lastError,
  created_at: iso(delivery.createdAt),
  last_attempt_at: isoOrNull(delivery.lastAttemptAt),
  next_attempt_at: isoOrNull(delivery.dueAt),
});

const deliveryParams = z.object({ delivery_id: uuid });

const queued = z.object({ delivery_id: z.string() });

export const webhookDeliveryRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('webhook_deliveries');
  return [
    personRoute({
      method: 'get',
      path: `${WEBHOOKS}/:id/deliveries`,
      operationId: 'listWebhookDeliveries',
      summary: 'Deliveries of a subscription, newest first',
      tag: TAG,
      params: idParams,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(deliveryView) },
      reads: ['webhook_deliveries'],
      handle: async (request) => {
        const { tenantId } = request.principal;
        const after = decodeCursor(request.query.cursor);
        await deps.webhooks.exists(tenantId, request.params.id);
        const page = await deliveriesOf(reader, tenantId, request.params.id, {
          limit: request.query.limit,
          after,
        });
        const body = page.docs.map(({ delivery }) => viewOf(delivery));
        return { status: 200, body, next: nextPage(page.next) };
      },
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/:id/test`,
      operationId: 'testWebhook',
      summary: 'Send a test delivery, signed and retried like any other',
      tag: TAG,
      params: idParams,
      responses: { 202: queued },
      errors: ['subscription_paused'],
      handle: async (request) => {
        const { deliveryId, position } = await deps.webhookDeliveries.test(
          request.principal.tenantId,
          request.params.id,
          contextOf(deps, request),
        );
        return { status: 202, body: { delivery_id: deliveryId }, position };
      },
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/:id/replay-dlq`,
      operationId: 'replayWebhookDeadLetters',
      summary: 'Try each delivery of the dead-letter log once more, oldest first, one after the other',
      tag: TAG,
      params: idParams,
      responses: { 202: z.object({ replayed: z.int() }) },
      errors: ['subscription_paused'],
      handle: async (request) => {
        const { replayed, position } = await deps.webhookDeliveries.replayDeadLetters(
          request.principal.tenantId,
          request.params.id,
          contextOf(deps, request),
        );
        return { status: 202, body: { replayed }, position };
      },
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/deliveries/:delivery_id/replay`,
      operationId: 'replayWebhookDelivery',
      summary: 'Send a delivery once more: the same bytes, signed with the present secret',
      tag: TAG,
      params: deliveryParams,
      responses: { 202: queued },
      errors: ['subscription_paused'],
      handle: async (request) => {
        const { delivery_id } = request.params;
        const position = await deps.webhookDeliveries.replay(
          request.principal.tenantId,
          delivery_id,
          contextOf(deps, request),
        );
        return { status: 202, body: { delivery_id }, position };
      },
    }),
  ];
};
