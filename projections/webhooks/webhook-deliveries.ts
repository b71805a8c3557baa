import { collection, platformCollection } from '../../domain/core/collection.ts';
import type { EventMeta } from '../../domain/core/event.ts';
import {
  type DocumentReader,
  every,
  iso,
  type Page,
  type PageEnd,
  type PageRequest,
  projection,
  touch,
} from '../../domain/core/projection.ts';
import { compareText } from '../../domain/expressions/compare.ts';
import {
  DELIVERY_STATUSES,
  type DeliveryEvent,
  type DeliveryStatus,
  deliveryStream,
  type ScheduledDelivery,
} from '../../domain/webhooks/delivery.ts';
import { DELIVERED_EVENTS, type DeliveredEvent } from '../../domain/webhooks/event-types.ts';

/** Deliveries of webhooks: history, due times and dead-letter logs (decisions, section 8). */

interface DeliveryDoc {
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
interface SubscriptionWithDeliveriesDoc {
  readonly tenant_id: string;
  readonly subscription_id: string;
}

// The collection keeps its first name, because existing stores have it.
const subscriptions = platformCollection<SubscriptionWithDeliveriesDoc>('webhook_lanes');

const queueOf = (isOrdered: boolean) => (isOrdered ? 'ordered' : 'parallel');

const docOf = (delivery: ScheduledDelivery): DeliveryDoc => {
  const { dueAt, replay, deadAt } = delivery;
  return {
    subscription_id: delivery.subscriptionId,
    created_at: iso(delivery.createdAt),
    queue: dueAt === null ? null : queueOf(replay?.order !== undefined),
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
  version: 3,
  collections: [
    {
      name: 'webhook_deliveries',
      indexes: [
        { name: 'by_subscription', fields: ['subscription_id', 'created_at'] },
        { name: 'by_status', fields: ['subscription_id', 'delivery.status', 'delivery.event', 'created_at'] },
        { name: 'by_due', fields: ['subscription_id', 'queue', 'due_at', 'order'], present: 'queue' },
        { name: 'dead', fields: ['subscription_id', 'dead_at'], present: 'dead_at' },
      ],
    },
    { name: 'webhook_lanes', indexes: [{ name: 'by_tenant', fields: ['tenant_id'] }] },
  ],
  on: {
    DeliveryScheduled: (event) => [
      ...fold(event),
      subscriptions.touch(
        `${event.tenantId}.${event.data.subscription_id}`,
        (known) => known ?? { tenant_id: event.tenantId, subscription_id: event.data.subscription_id },
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

const deliveries = collection<DeliveryDoc>('webhook_deliveries');

/** Undefined members select all. */
interface DeliveryFilter {
  readonly status?: DeliveryStatus | undefined;
  readonly event?: DeliveredEvent | undefined;
  /** Created at this instant or later (ms). */
  readonly from?: number | undefined;
}

/** Newest first. */
export const deliveriesOf = async (
  reader: DocumentReader,
  tenantId: string,
  subscriptionId: string,
  { status, event, from }: DeliveryFilter,
  page: PageRequest,
): Promise<Page<DeliveryDoc>> => {
  const range = from === undefined ? {} : { range: { gt: new Date(from - 1).toISOString() } };
  const query = { ...range, ...page, order: 'desc' } as const;
  if (status === undefined && event === undefined) {
    return reader.find('webhook_deliveries', tenantId, {
      index: 'by_subscription',
      equals: [subscriptionId],
      ...query,
    });
  }
  // One index serves every filter: merges the newest deliveries of each status and event.
  const statuses = status === undefined ? DELIVERY_STATUSES : [status];
  const events = event === undefined ? DELIVERED_EVENTS : [event];
  const limit = page.limit + 1;
  const places = statuses.flatMap((each) => events.map((one) => [subscriptionId, each, one]));
  const found = await Promise.all(
    places.map((equals) =>
      reader.entries('webhook_deliveries', tenantId, { ...query, index: 'by_status', equals, limit }),
    ),
  );
  // A delivery whose status changes between two of these reads is in both results.
  const distinct = new Map(found.flat().map((end) => [end.id, end]));
  const ends = [...distinct.values()].sort((one, other) => compareText(keyOf(other), keyOf(one)));
  const ids = ends.slice(0, page.limit).map(({ id }) => id);
  const docs = await Promise.all(ids.map((id) => deliveries.get(reader, tenantId, id)));
  return {
    docs: docs.filter((doc) => doc !== undefined),
    next: ends.length > page.limit ? ends[page.limit - 1] : undefined,
  };
};

const keyOf = ({ values: [createdAt], id }: PageEnd): string => `${createdAt} ${id}`;

/** Deliveries with their due time (ms), earliest first. Deliveries replayed in order form a separate queue. */
export const pendingDeliveriesOf = async (
  reader: DocumentReader,
  queue: { readonly tenantId: string; readonly subscriptionId: string; readonly ordered: boolean },
  limit: number,
): Promise<{ readonly id: string; readonly dueAt: number }[]> => {
  const equals = [queue.subscriptionId, queueOf(queue.ordered)];
  const query = { index: 'by_due', equals, order: 'asc', limit } as const;
  const found = await reader.entries('webhook_deliveries', queue.tenantId, query);
  return found.map(({ id, values: [dueAt] }) => ({ id, dueAt: typeof dueAt === 'number' ? dueAt : 0 }));
};

/** The dead-letter log of a subscription, oldest first. */
export const deadLettersOf = async function* (
  reader: DocumentReader,
  tenantId: string,
  subscriptionId: string,
): AsyncIterable<{ readonly id: string; readonly deadAt: string }> {
  const query = { index: 'dead', equals: [subscriptionId], range: { gt: '' }, order: 'asc' } as const;
  const pages = every((page) =>
    reader.find<DeliveryDoc>('webhook_deliveries', tenantId, { ...query, ...page }),
  );
  for await (const { delivery, dead_at: deadAt } of pages) {
    if (deadAt !== null) yield { id: delivery.id, deadAt };
  }
};

/** Subscriptions with deliveries, of all tenants. */
export const subscriptionsWithDeliveries = async function* (
  reader: DocumentReader,
): AsyncIterable<{ readonly tenantId: string; readonly subscriptionId: string }> {
  const all = every((page) => subscriptions.list('by_tenant', 'asc')(reader, page));
  for await (const { tenant_id: tenantId, subscription_id: subscriptionId } of all)
    yield { tenantId, subscriptionId };
};
