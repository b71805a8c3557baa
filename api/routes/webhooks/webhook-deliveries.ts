import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { PastAttempt, WebhookDeliveries } from '../../../application/webhooks/webhook-deliveries.ts';
import type { Webhooks } from '../../../application/webhooks/webhooks.ts';
import { iso } from '../../../domain/core/projection.ts';
import { DELIVERY_STATUSES, type ScheduledDelivery } from '../../../domain/webhooks/delivery.ts';
import { DELIVERED_EVENTS } from '../../../domain/webhooks/event-types.ts';
import { deliveriesOf } from '../../../projections/webhooks/webhook-deliveries.ts';
import { listName } from '../../http/cursor.ts';
import type { Route } from '../../http/route.ts';
import { idParams, instant, timestamp, uuid } from '../../http/schemas.ts';
import { isoOrNull, listReply, ok, one, pagedList, pageQuery, shown } from '../replies.ts';
import { personRoute, tagged } from '../route-kinds.ts';
import { WEBHOOKS } from './webhooks.ts';

interface Deps {
  readonly readModels: ReadModels;
  readonly webhookDeliveries: WebhookDeliveries;
  readonly webhooks: Webhooks;
}

const fields = {
  id: z.string().meta({ description: 'Equal to the `id` of the envelope.' }),
  event: z.string(),
  status: z.enum(DELIVERY_STATUSES).meta({
    description: '`failed`: the guard refused the URL. `dead`: in the dead-letter log.',
  }),
  attempts: z.int(),
  response_code: z.int().nullable(),
  last_error: z.string().nullable().meta({
    description: 'Error of the last attempt, unless it succeeded. At most 500 characters.',
  }),
  created_at: timestamp,
  last_attempt_at: timestamp.nullable(),
  next_attempt_at: timestamp.nullable(),
};

const deliveryView = z.object(fields).meta({ id: 'WebhookDelivery' });

const attemptView = z
  .object({
    attempt: z.int().meta({ description: 'As in `X-Service-Attempt`.' }),
    at: timestamp.meta({ description: 'When the outcome of the attempt was recorded.' }),
    status: z.enum(['delivered', 'failed', 'refused']).meta({
      description: '`refused`: the guard refused the URL, and nothing was sent.',
    }),
    response_code: z.int().nullable(),
    ms: z.int().nullable().meta({
      description: 'Duration of the call; null for attempts of a former version of the server.',
    }),
    error: z.string().nullable(),
  })
  .meta({ id: 'WebhookAttempt' });

const detailView = z
  .object({
    ...fields,
    subscription_id: z.string(),
    body: z.string().meta({ description: 'The body exactly as sent.' }),
    history: z.array(attemptView).meta({ description: 'The latest 100 attempts, oldest first.' }),
  })
  .meta({ id: 'WebhookDeliveryDetail' });

const deliveryFilter = {
  status: z.enum(DELIVERY_STATUSES).optional().meta({ description: 'Only of this status.' }),
  event: z.enum(DELIVERED_EVENTS).optional().meta({ description: 'Only of this event type.' }),
  from: instant.optional().meta({ description: 'Created at this instant or later.' }),
};

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

const attemptViewOf = (attempt: PastAttempt) =>
  shown(attemptView, { ...attempt, at: iso(attempt.at), response_code: attempt.responseCode });

const queued = z.object({ delivery_id: z.string() });

/** Deliveries of webhooks (specification, Webhooks; decisions, section 8). */
export const webhookDeliveryRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('webhook_deliveries');
  return tagged('Webhooks', [
    personRoute({
      ...pagedList(deliveryView),
      path: `${WEBHOOKS}/:id/deliveries`,
      operationId: 'listWebhookDeliveries',
      summary: 'Deliveries of a subscription, newest first',
      description: 'With the status, the number of attempts, the last response code and the last error.',
      params: idParams,
      query: pageQuery.extend(deliveryFilter),
      reads: ['webhook_deliveries'],
      handle: ({ principal: { tenantId }, params, query }) => {
        const { status, event, from } = query;
        const filter = { status, event, from: from === undefined ? undefined : Date.parse(from) };
        const isFiltered = status !== undefined || event !== undefined || from !== undefined;
        return listReply(
          query,
          async (page) => {
            await deps.webhooks.find(tenantId, params.id);
            return deliveriesOf(reader, tenantId, params.id, filter, page);
          },
          ({ delivery }) => viewOf(delivery),
          isFiltered ? listName(status, event, from) : undefined,
        );
      },
    }),

    personRoute({
      ...one('get', detailView, z.object({ delivery_id: uuid })),
      path: `${WEBHOOKS}/deliveries/:delivery_id`,
      operationId: 'readWebhookDelivery',
      summary: 'One delivery with its body as sent and its attempts',
      description: 'Shows the request to the receiver and its answer for each attempt.',
      handle: async ({ principal: { tenantId }, params: { delivery_id } }) => {
        const { delivery, body, history } = await deps.webhookDeliveries.read(tenantId, delivery_id);
        const { subscriptionId: subscription_id } = delivery;
        await deps.webhooks.find(tenantId, subscription_id);
        return ok({ ...viewOf(delivery), subscription_id, body, history: history.map(attemptViewOf) });
      },
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/:id/test`,
      operationId: 'testWebhook',
      summary: 'Send a test delivery, signed and retried like any other',
      description: 'The event is `webhook.test`. Read its delivery to see what the receiver answered.',
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
      summary: 'Replay the dead-letter log: each delivery once, oldest first, one after the other',
      description: 'A delivery that fails again goes to the end of the dead-letter log.',
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
      summary: 'Replay a delivery: the same bytes, signed with the current secret',
      description: 'Also possible for a delivery that has succeeded; the receiver gets the same id.',
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
