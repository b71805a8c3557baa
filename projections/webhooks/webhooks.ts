import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import type { EventMeta } from '../../domain/core/event.ts';
import { iso, projection, touch } from '../../domain/core/projection.ts';
import {
  evolveSubscription,
  type Subscription,
  type SubscriptionEvent,
} from '../../domain/webhooks/subscription.ts';

/** The webhook subscriptions of a tenant (decisions, section 8). */

interface SubscriptionDoc {
  readonly created_at: string;
  /** The state, with sealed secrets. */
  readonly subscription: Subscription;
}

const fold = (event: SubscriptionEvent & EventMeta) => [
  touch<SubscriptionDoc>('webhooks', event.data.subscription_id, (doc) => {
    const subscription = evolveSubscription(doc?.subscription, event, event);
    return subscription === undefined
      ? undefined
      : { created_at: doc?.created_at ?? iso(event.at), subscription };
  }),
];

export const webhooksProjection = projection<SubscriptionEvent>({
  name: 'webhooks',
  version: 1,
  collections: [{ name: 'webhooks', indexes: [byCreatedAt] }],
  on: {
    WebhookCreated: fold,
    WebhookChanged: fold,
    WebhookPaused: fold,
    WebhookActivated: fold,
    WebhookSecretRotated: fold,
    WebhookDeadLetterCounted: fold,
    WebhookDeadLettersCleared: fold,
    WebhookDeleted: fold,
  },
});

// Queries

const webhooks = collection<SubscriptionDoc>('webhooks');

/** Newest first. */
export const subscriptionsOf = webhooks.list('by_created_at', 'desc');

export const subscriptionDocOf = webhooks.get;
