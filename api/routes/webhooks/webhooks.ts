import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Webhooks } from '../../../application/webhooks/webhooks.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { iso } from '../../../domain/core/projection.ts';
import { ALL_EVENTS, WEBHOOK_EVENTS } from '../../../domain/webhooks/event-types.ts';
import type { Subscription } from '../../../domain/webhooks/subscription.ts';
import { subscriptionDocOf, subscriptionsOf } from '../../../projections/webhooks/webhooks.ts';
import type { Reply, Route } from '../../http/route.ts';
import { idParams, text, timestamp } from '../../http/schemas.ts';
import { creation, found, gone, isoOrNull, listReply, ok, one, pagedList, removal } from '../replies.ts';
import { personRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly readModels: ReadModels;
  readonly webhooks: Webhooks;
}

export const WEBHOOKS = '/api/v1/tenant/webhooks';

const eventType = z.enum([...WEBHOOK_EVENTS, ALL_EVENTS]);
const events = z.union(
  [
    listOf(eventType, { min: 1, max: 100, tooShort: 'At least one event is needed.' }),
    z.literal(ALL_EVENTS).transform(() => [ALL_EVENTS] as const),
  ],
  `events must be a list of ${WEBHOOK_EVENTS.join(', ')}, or ${ALL_EVENTS}.`,
);
const url = text({ max: 2000 });
const description = text({ min: 0, max: 1000 });

const newSubscription = z.object({
  url,
  events,
  description: description.nullish().transform((given) => given ?? ''),
});

const change = z.object({
  url: url.optional(),
  events: events.optional(),
  description: description
    .nullable()
    .transform((given) => given ?? '')
    .optional(),
  state: z.enum(['active', 'paused']).optional(),
});

const fields = {
  id: z.string(),
  url: z.string(),
  events: z.array(eventType),
  description: z.string(),
  state: z.enum(['active', 'paused']),
  created_at: timestamp,
  updated_at: timestamp,
  consecutive_dead_letters: z.int().meta({
    description: 'Number of dead letters since the last success; the tenth pauses the subscription.',
  }),
  secret_rotated_at: timestamp.nullable(),
};

const view = z.object(fields).meta({ id: 'WebhookSubscription' });
const viewWithSecret = z
  .object({
    ...fields,
    secret: z.string().optional().meta({
      description:
        'Shown once; a replayed answer (Idempotency-Key) does not contain it. The key of the HMAC is the whole text.',
    }),
  })
  .meta({ id: 'WebhookSubscriptionWithSecret' });

const viewOf = (subscription: Subscription): z.output<typeof view> => ({
  id: subscription.id,
  url: subscription.url,
  events: [...subscription.events],
  description: subscription.description,
  state: subscription.state,
  created_at: iso(subscription.createdAt),
  updated_at: iso(subscription.updatedAt),
  consecutive_dead_letters: subscription.deadLetters.length,
  secret_rotated_at: isoOrNull(subscription.secretRotatedAt),
});

const withSecret = (
  status: number,
  { subscription, secret, position }: Awaited<ReturnType<Webhooks['create']>>,
): Reply => ({ status, body: { ...viewOf(subscription), secret }, position, secrets: ['secret'] });

/** Webhook subscriptions (specification, Webhooks; decisions, section 8). */
export const webhookRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('webhooks');
  return tagged('Webhooks', [
    personRoute({
      ...pagedList(view),
      path: WEBHOOKS,
      operationId: 'listWebhooks',
      summary: 'The tenant’s webhook subscriptions, newest first',
      description: 'Active and paused subscriptions, without their secrets.',
      reads: ['webhooks'],
      handle: ({ principal, query }) =>
        listReply(
          query,
          (page) => subscriptionsOf(reader, principal.tenantId, page),
          ({ subscription }) => viewOf(subscription),
        ),
    }),

    personRoute({
      ...creation(viewWithSecret, newSubscription),
      path: WEBHOOKS,
      operationId: 'createWebhook',
      summary: 'Subscribe a URL to events; only this answer contains the signing secret',
      description:
        'Only this answer contains `secret`. The URL must be public HTTPS. The plan limits the number of ' +
        'active subscriptions: 422 `subscription_limit_reached`.',
      entitlement: 'webhooks',
      errors: ['url_refused', 'subscription_limit_reached'],
      handle: async ({ principal: { tenantId, rights }, body, context }) =>
        withSecret(201, await deps.webhooks.create(tenantId, body, rights.plan, context)),
    }),

    personRoute({
      ...one('get', view, idParams),
      path: `${WEBHOOKS}/:id`,
      operationId: 'readWebhook',
      summary: 'One subscription, without its secret',
      description: '`consecutive_dead_letters` counts towards the automatic pause after ten.',
      reads: ['webhooks'],
      handle: async ({ principal, params }) =>
        ok(viewOf(found(await subscriptionDocOf(reader, principal.tenantId, params.id)).subscription)),
    }),

    personRoute({
      ...one('patch', view, idParams),
      path: `${WEBHOOKS}/:id`,
      operationId: 'changeWebhook',
      summary: 'Change, pause or resume a subscription; equal values change nothing',
      description: 'A paused subscription gets no events; events during the pause are not sent later.',
      body: change,
      errors: ['plan_required', 'url_refused', 'subscription_limit_reached'],
      handle: async ({ principal: { tenantId, rights }, params, body, context }) => {
        const changed = await deps.webhooks.change(tenantId, params.id, body, rights.plan, context);
        return { status: 200, body: viewOf(changed.subscription), position: changed.position };
      },
    }),

    personRoute({
      ...removal(idParams),
      path: `${WEBHOOKS}/:id`,
      operationId: 'deleteWebhook',
      summary: 'Delete a subscription and its pending deliveries',
      description: 'Its delivery history can no longer be read.',
      handle: async ({ principal: { tenantId }, params, context }) =>
        gone(await deps.webhooks.delete(tenantId, params.id, context)),
    }),

    personRoute({
      ...one('post', viewWithSecret, idParams),
      path: `${WEBHOOKS}/:id/rotate-secret`,
      operationId: 'rotateWebhookSecret',
      summary:
        'Rotate the signing secret; the new one is shown once, and the previous one signs a second header for 24 hours',
      description: 'For 24 hours each delivery carries a second signature, made with the previous secret.',
      handle: async ({ principal, params, context }) =>
        withSecret(200, await deps.webhooks.rotate(principal.tenantId, params.id, context)),
    }),
  ]);
};
