import { z } from 'zod';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import type { Webhooks } from '../../../application/webhooks/subscriptions.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { ALL_EVENTS, WEBHOOK_EVENTS } from '../../../domain/webhooks/event-types.ts';
import type { Subscription } from '../../../domain/webhooks/subscription.ts';
import { subscriptionDocOf, subscriptionsOf } from '../../../projections/webhooks/webhooks.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, idParams, limit, text, timestamp } from '../../http/schemas.ts';
import { personRoute } from '../route-kinds.ts';

interface Deps {
  readonly ids: Ids;
  readonly readModels: ReadModels;
  readonly webhooks: Webhooks;
}

/** Webhook subscriptions (specification, Webhooks; decisions, section 8). */

export const WEBHOOKS = '/api/v1/tenant/webhooks';
export const TAG = 'Webhooks';

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
    description: 'Distinct deliveries given up since the last success; the tenth pauses the subscription.',
  }),
  secret_rotated_at: timestamp.nullable(),
};

const view = z.object(fields).meta({ id: 'WebhookSubscription' });
const viewWithSecret = z
  .object({
    ...fields,
    secret: z.string().optional().meta({
      description:
        'Shown once: an answer that is repeated for an Idempotency-Key is without it. The key of the HMAC is the whole text.',
    }),
  })
  .meta({ id: 'WebhookSubscriptionWithSecret' });

const iso = (ms: number): string => new Date(ms).toISOString();

const viewOf = (subscription: Subscription): z.output<typeof view> => ({
  id: subscription.id,
  url: subscription.url,
  events: [...subscription.events],
  description: subscription.description,
  state: subscription.state,
  created_at: iso(subscription.createdAt),
  updated_at: iso(subscription.updatedAt),
  consecutive_dead_letters: subscription.deadLetters.length,
  secret_rotated_at: subscription.secretRotatedAt === undefined ? null : iso(subscription.secretRotatedAt),
});

export const webhookRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('webhooks');
  return [
    personRoute({
      method: 'get',
      path: WEBHOOKS,
      operationId: 'listWebhooks',
      summary: 'The tenant’s webhook subscriptions, newest first',
      tag: TAG,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(view) },
      reads: ['webhooks'],
      handle: async (request) => {
        const after = decodeCursor(request.query.cursor);
        const page = await subscriptionsOf(reader, request.principal.tenantId, {
          limit: request.query.limit,
          after,
        });
        const body = page.docs.map(({ subscription }) => viewOf(subscription));
        return { status: 200, body, next: nextPage(page.next) };
      },
    }),

    personRoute({
      method: 'post',
      path: WEBHOOKS,
      operationId: 'createWebhook',
      summary: 'Subscribe a URL to events; the answer holds the signing secret, once',
      tag: TAG,
      entitlement: 'webhooks',
      body: newSubscription,
      responses: { 201: viewWithSecret },
      errors: ['url_refused', 'subscription_limit_reached'],
      handle: async (request) => {
        const { tenantId, rights } = request.principal;
        const { subscription, secret, position } = await deps.webhooks.create(
          tenantId,
          request.body,
          rights.plan,
          contextOf(deps, request),
        );
        return { status: 201, body: { ...viewOf(subscription), secret }, position, secrets: ['secret'] };
      },
    }),

    personRoute({
      method: 'get',
      path: `${WEBHOOKS}/:id`,
      operationId: 'readWebhook',
      summary: 'One subscription, without its secret',
      tag: TAG,
      params: idParams,
      responses: { 200: view },
      reads: ['webhooks'],
      handle: async (request) => {
        const doc = await subscriptionDocOf(reader, request.principal.tenantId, request.params.id);
        if (doc === undefined) throw notFound();
        return { status: 200, body: viewOf(doc.subscription) };
      },
    }),

    personRoute({
      method: 'patch',
      path: `${WEBHOOKS}/:id`,
      operationId: 'changeWebhook',
      summary: 'Change URL, events or description, pause, or make active again; equal values change nothing',
      tag: TAG,
      params: idParams,
      body: change,
      responses: { 200: view },
      errors: ['plan_required', 'url_refused', 'subscription_limit_reached'],
      handle: async (request) => {
        const { tenantId, rights } = request.principal;
        const { subscription, position } = await deps.webhooks.change(
          tenantId,
          request.params.id,
          request.body,
          rights.plan,
          contextOf(deps, request),
        );
        return { status: 200, body: viewOf(subscription), position };
      },
    }),

    personRoute({
      method: 'delete',
      path: `${WEBHOOKS}/:id`,
      operationId: 'deleteWebhook',
      summary: 'Delete a subscription; what waits to be delivered is dropped',
      tag: TAG,
      params: idParams,
      responses: { 204: null },
      handle: async (request) => {
        const { tenantId } = request.principal;
        const position = await deps.webhooks.delete(tenantId, request.params.id, contextOf(deps, request));
        return { status: 204, position };
      },
    }),

    personRoute({
      method: 'post',
      path: `${WEBHOOKS}/:id/rotate-secret`,
      operationId: 'rotateWebhookSecret',
      summary: 'A new signing secret, shown once; the one before signs a second header for a while',
      tag: TAG,
      params: idParams,
      responses: { 200: viewWithSecret },
      handle: async (request) => {
        const { subscription, secret, position } = await deps.webhooks.rotate(
          request.principal.tenantId,
          request.params.id,
          contextOf(deps, request),
        );
        return { status: 200, body: { ...viewOf(subscription), secret }, position, secrets: ['secret'] };
      },
    }),
  ];
};
