import type { EventMeta } from '../../domain/core/event.ts';
import {
  type DocumentReader,
  iso,
  type Page,
  type PageEnd,
  projection,
  touch,
} from '../../domain/core/projection.ts';
import {
  evolveSubscription,
  type Subscription,
  type SubscriptionEvent,
} from '../../domain/webhooks/subscription.ts';

/** The webhook subscriptions of a tenant (decisions, section 8). */

export interface SubscriptionDoc {
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
  collections: [{ name: 'webhooks', indexes: [{ name: 'by_created_at', fields: ['created_at'] }] }],
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

/** Newest first. */
export const subscriptionsOf = (
  reader: DocumentReader,
  tenantId: string,
  page: { limit: number; after: PageEnd | undefined },
): Promise<Page<SubscriptionDoc>> =>
  reader.find('webhooks', tenantId, { index: 'by_created_at', equals: [], order: 'desc', ...page });

export const subscriptionDocOf = (
  reader: DocumentReader,
  tenantId: string,
  id: string,
): Promise<SubscriptionDoc | undefined> => reader.get('webhooks', tenantId, id);
