import { z } from 'zod';
import { TEST_EVENT, type WebhookEvent } from '../../domain/webhooks/event-types.ts';
import { position, timestamp } from '../http/schemas.ts';
import { notificationView } from '../routes/notifications/notifications.ts';

/** Shapes of what the server sends by itself: envelopes of the WebSocket and deliveries of webhooks. */

const id = z.string();

export const messageEnvelope = z
  .object({
    kind: z.literal('message'),
    event: z.literal('created'),
    position,
    conversation_id: id,
    message: z.object({ id, sender_user_id: id, body: z.string(), created_at: timestamp }),
  })
  .meta({ id: 'MessageEnvelope', description: 'A message of a conversation of the connected person.' });

export const notificationEnvelope = z
  .object({
    kind: z.literal('notification'),
    event: z.literal('created'),
    position,
    notification: notificationView,
  })
  .meta({ id: 'NotificationEnvelope', description: 'A notification of the connected person.' });

export const readyEnvelope = z
  .object({ kind: z.literal('system'), event: z.literal('ready'), position: z.string() })
  .meta({
    id: 'ReadyEnvelope',
    description:
      'The first envelope. Its position is `?after=` if that was given, otherwise the end of the log.',
  });

export const resyncEnvelope = z
  .object({ kind: z.literal('system'), event: z.literal('resync'), position: z.string().optional() })
  .meta({
    id: 'ResyncEnvelope',
    description:
      'More envelopes were missed than the socket sends again: read conversations and notifications again over REST.',
  });

const job = {
  job_id: id,
  entity_name: z.string(),
  entity_id: id,
  from_state: z.string(),
  to_state: z.string(),
};
const actor = z.object({ kind: z.string(), id });
const values = z.record(z.string(), z.unknown());
const entity = { entity_name: z.string(), entity_id: id, values, version: z.int() };

interface WebhookSchema {
  readonly event: WebhookEvent | typeof TEST_EVENT;
  /** Names the schema, and the operation that receives the delivery. */
  readonly name: string;
  readonly summary: string;
  readonly schema: z.ZodType;
}

const delivery = (
  event: WebhookSchema['event'],
  name: string,
  summary: string,
  data: Readonly<Record<string, z.ZodType>>,
): WebhookSchema => ({
  event,
  name,
  summary,
  schema: z
    .object({
      id: z.string().meta({ description: 'The same at every attempt and replay.' }),
      event: z.literal(event),
      occurred_at: timestamp,
      tenant_id: z.string(),
      data: z.object(data),
    })
    .meta({ id: name, description: `${summary}.` }),
});

/** A schema for each event, and one for the test delivery. */
export const WEBHOOK_SCHEMAS: readonly WebhookSchema[] = [
  delivery('job.transition', 'JobTransitionEvent', 'A job moved to another state', {
    ...job,
    event_name: z.string(),
    actor,
  }),
  delivery('job.admin_override', 'JobOverrideEvent', 'An admin put a job into a state', {
    ...job,
    event_name: z.literal('admin_override'),
    actor,
    reason: z.string(),
  }),
  delivery('form.submitted', 'FormSubmittedEvent', 'A public form was filled in', {
    form_id: id,
    submission_id: id,
    entity_name: z.string(),
    entity_id: id,
    values,
  }),
  delivery('entity.created', 'EntityCreatedEvent', 'A record was created', entity),
  delivery('entity.updated', 'EntityUpdatedEvent', 'Values of a record changed', {
    ...entity,
    changed: z.array(z.string()).meta({ description: 'Keys of the fields that changed.' }),
  }),
  delivery('entity.deleted', 'EntityDeletedEvent', 'A record was deleted', entity),
  delivery(TEST_EVENT, 'WebhookTestEvent', 'A test delivery was requested', { message: z.string() }),
];

/** Headers of every delivery with their descriptions. */
export const DELIVERY_HEADERS = {
  'X-Service-Event': 'The event type.',
  'X-Service-Delivery': 'The `id` of the body.',
  'X-Service-Timestamp': 'Unix seconds at which this attempt was signed.',
  'X-Service-Signature': '`sha256=` and the HMAC-SHA256 of the raw body in lower-case hex.',
  'X-Service-Attempt': 'The number of the attempt, from 1.',
  'webhook-id': 'The `id` of the body, as Standard Webhooks names it.',
  'webhook-timestamp': 'The time of `X-Service-Timestamp`, as Standard Webhooks names it.',
  'webhook-signature': '`v1,` and a base64 HMAC-SHA256 over id, timestamp and body (Standard Webhooks).',
} as const;

/** Headers that only some deliveries have. */
export const OPTIONAL_DELIVERY_HEADERS = {
  'X-Service-Signature-Previous':
    'For a time after a rotation of the secret: `X-Service-Signature` with the former secret.',
} as const;
