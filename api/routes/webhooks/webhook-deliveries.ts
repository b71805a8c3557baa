import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { WebhookDeliveries } from '../../../application/webhooks/deliveries.ts';
import type { Webhooks } from '../../../application/webhooks/subscriptions.ts';
import { iso } from '../../../domain/core/projection.ts';
import type { ScheduledDelivery } from '../../../domain/webhooks/delivery.ts';
import { deliveriesOf } from '../../../projections/webhooks/webhook-deliveries.ts';
import type { Route } from '../../http/route.ts';
import { idParams, timestamp, uuid } from '../../http/schemas.ts';
import { isoOrNull, listReply, pagedList } from '../replies.ts';
import { personRoute, tagged } from '../route-kinds.ts';
import { WEBHOOKS } from './webhooks.ts';

interface Deps {
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

const queued = z.object({ delivery_id: z.string() });

export const webhookDeliveryRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('webhook_deliveries');
  return tagged('Webhooks', [
    personRoute({
      ...pagedList(deliveryView),
      path: `${WEBHOOKS}/:id/deliveries`,
      operationId: 'listWebhookDeliveries',
      summary: 'Deliveries of a subscription, newest first',
      params: idParams,
      reads: ['webhook_deliveries'],
      handle: ({ principal: { tenantId }, params, query }) =>
        listReply(
          query,
          async (page) => {
            await deps.webhooks.exists(tenantId, params.id);
            return deliveriesOf(reader, tenantId, params.id, page);
          },
          ({ delivery }) => viewOf(delivery),
        ),
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/:id/test`,
      operationId: 'testWebhook',
      summary: 'Send a test delivery, signed and retried like any other',
      params: idParams,
      responses: { 202: queued },
      errors: ['subscription_paused'],
      handle: async ({ principal: { tenantId }, params, context }) => {
        const { deliveryId, position } = await deps.webhookDeliveries.test(tenantId, params.id, context);
        return { status: 202, body: { delivery_id: deliveryId }, position };
      },
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/:id/replay-dlq`,
      operationId: 'replayWebhookDeadLetters',
      summary: 'Try each delivery of the dead-letter log once more, oldest first, one after the other',
      params: idParams,
      responses: { 202: z.object({ replayed: z.int() }) },
      errors: ['subscription_paused'],
      handle: async ({ principal: { tenantId }, params, context }) => {
        const begun = await deps.webhookDeliveries.replayDeadLetters(tenantId, params.id, context);
        return { status: 202, body: { replayed: begun.replayed }, position: begun.position };
      },
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/deliveries/:delivery_id/replay`,
      operationId: 'replayWebhookDelivery',
      summary: 'Send a delivery once more: the same bytes, signed with the present secret',
      params: z.object({ delivery_id: uuid }),
      responses: { 202: queued },
      errors: ['subscription_paused'],
      handle: async ({ principal, params: { delivery_id }, context }) => {
        const position = await deps.webhookDeliveries.replay(principal.tenantId, delivery_id, context);
        return { status: 202, body: { delivery_id }, position };
      },
    }),
  ]);
};
