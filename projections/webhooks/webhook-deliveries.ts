import { collection } from '../../domain/core/collection.ts';
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
  type DeliveryEvent,
  deliveryStream,
  type ScheduledDelivery,
} from '../../domain/webhooks/delivery.ts';

/** Deliveries of webhooks: history, due times and dead-letter logs (decisions, section 8). */

export interface DeliveryDoc {
  readonly subscription_id: string;
  readonly created_at: string;
  /** Set while an attempt is due; `ordered` deliveries are sent one after another. */
  readonly queue: 'parallel' | 'ordered' | null;
  /** ms */
  readonly due_at: number | null;
  readonly order: string;
  /** Set while the delivery is in the dead-letter log. */
  readonly dead_at: string | null;
  readonly delivery: ScheduledDelivery;
}

/** A subscription with deliveries, stored under the platform. */
export interface EndpointDoc {
  readonly tenant_id: string;
  readonly subscription_id: string;
}

const PLATFORM = 'platform';

const docOf = (delivery: ScheduledDelivery): DeliveryDoc => {
  const { dueAt, replay, deadAt } = delivery;
  const isOrdered = replay?.order !== undefined;
  return {
    subscription_id: delivery.subscriptionId,
    created_at: iso(delivery.createdAt),
    queue: dueAt === null ? null : isOrdered ? 'ordered' : 'parallel',
    due_at: dueAt,
    order: replay?.order ?? '',
    dead_at: deadAt === null ? null : iso(deadAt),
    delivery,
  };
};

const fold = (event: DeliveryEvent & EventMeta) => [
  touch<DeliveryDoc>('webhook_deliveries', event.data.delivery_id, (doc) => {
    const after = deliveryStream.evolve(doc?.delivery ?? { kind: 'none' }, event, event);
    return after.kind === 'scheduled' ? docOf(after) : undefined;
  }),
];

export const webhookDeliveriesProjection = projection<DeliveryEvent>({
  name: 'webhook_deliveries',
  version: 2,
  collections: [
    {
      name: 'webhook_deliveries',
      indexes: [
        { name: 'by_subscription', fields: ['subscription_id', 'created_at'] },
        { name: 'by_due', fields: ['subscription_id', 'queue', 'due_at', 'order'], present: 'queue' },
        { name: 'dead', fields: ['subscription_id', 'dead_at'], present: 'dead_at' },
      ],
    },
    { name: 'webhook_lanes', indexes: [{ name: 'by_tenant', fields: ['tenant_id'] }] },
  ],
  on: {
    DeliveryScheduled: (event) => [
      ...fold(event),
      touch<EndpointDoc>(
        'webhook_lanes',
        `${event.tenantId}.${event.data.subscription_id}`,
        (lane) => lane ?? { tenant_id: event.tenantId, subscription_id: event.data.subscription_id },
        PLATFORM,
      ),
    ],
    DeliverySucceeded: fold,
    DeliveryFailed: fold,
    DeliveryDeadLettered: fold,
    DeliveryRefused: fold,
    DeliveryReplayRequested: fold,
    DeliveryDropped: fold,
  },
});

// Queries

interface PageOf {
  readonly limit: number;
  readonly after: PageEnd | undefined;
}

const deliveries = collection<DeliveryDoc>('webhook_deliveries');

/** Newest first. */
export const deliveriesOf = deliveries.listOf('by_subscription', 'desc');

export interface PendingDelivery {
  readonly id: string;
  /** ms */
  readonly dueAt: number;
}

/** Next due first. */
export const pendingDeliveriesOf = async (
  reader: DocumentReader,
  tenantId: string,
  subscriptionId: string,
  queue: 'parallel' | 'ordered',
  limit: number,
): Promise<readonly PendingDelivery[]> => {
  const query = { index: 'by_due', equals: [subscriptionId, queue], order: 'asc', limit } as const;
  const found = await reader.entries('webhook_deliveries', tenantId, query);
  return found.map(({ id, values: [dueAt] }) => ({ id, dueAt: typeof dueAt === 'number' ? dueAt : 0 }));
};

/** Oldest dead letter first. */
export const deadLettersOf = (
  reader: DocumentReader,
  tenantId: string,
  subscriptionId: string,
  page: PageOf,
): Promise<Page<DeliveryDoc>> =>
  reader.find('webhook_deliveries', tenantId, {
    index: 'dead',
    equals: [subscriptionId],
    range: { gt: '' },
    order: 'asc',
    ...page,
  });

/** Subscriptions with deliveries, of all tenants. */
export const endpointsOf = (reader: DocumentReader, page: PageOf): Promise<Page<EndpointDoc>> =>
  reader.find('webhook_lanes', PLATFORM, { index: 'by_tenant', equals: [], order: 'asc', ...page });
