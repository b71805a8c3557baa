import { z } from 'zod';
import { TenantStatusChanged } from '../../domain/tenancy/tenant.ts';
import { DeliveryReplayRequested, DeliveryScheduled } from '../../domain/webhooks/delivery.ts';
import { WebhookActivated, WebhookDeleted, WebhookPaused } from '../../domain/webhooks/subscription.ts';
import type { StreamStates } from '../core/commands/stream-states.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../core/events/event-codec.ts';
import { holdLease, type LeaseOptions } from '../core/subscriptions/lease.ts';
import type { LogFollower } from '../core/subscriptions/log-follower.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import { leaseNameOfSubscriber } from '../ports/read-store.ts';
import { EndpointWorker, type LaneDeps } from './endpoint-worker.ts';

export interface DispatcherDeps extends LaneDeps {
  readonly events: Pick<EventStore, 'head'>;
  readonly follower: LogFollower;
  readonly codec: EventCodec;
  readonly states: StreamStates;
}

/** When it has to stop, calls under way get so long to end. */
const LAST_CALLS_MS = 2000;

const concerned = z.object({ subscription_id: z.string() });

/**
 * Sends what is due, from the read model of deliveries; the log tells it when something was added. One node does, under
 * a lease. Should two do for a moment, a receiver may see an attempt twice, under one number; it is recorded once.
 */
export const runWebhookDispatcher = (
  deps: DispatcherDeps,
  lease: LeaseOptions,
  signal: AbortSignal,
): Promise<void> =>
  holdLease(leaseNameOfSubscriber('webhook-dispatcher'), lease, signal, (_lease, held) =>
    dispatch(deps, held),
  );

const dispatch = async (deps: DispatcherDeps, held: AbortSignal): Promise<void> => {
  const stopping = new AbortController();
  const calls = new AbortController();
  const lanes = new Map<string, EndpointWorker>();
  const running = new Set<Promise<void>>();
  const laneOf = (tenantId: string, subscriptionId: string, ordered: boolean): EndpointWorker => {
    const key = `${tenantId}/${subscriptionId}/${ordered}`;
    const present = lanes.get(key);
    if (present !== undefined) return present;
    const signals = { stopping: stopping.signal, calls: calls.signal };
    const lane = new EndpointWorker({ tenantId, subscriptionId, ordered }, deps, signals);
    lanes.set(key, lane);
    const run = lane.run(() => lanes.delete(key)).finally(() => running.delete(run));
    running.add(run);
    return lane;
  };
  const lanesOf = (tenantId: string, subscriptionId: string): readonly [EndpointWorker, EndpointWorker] => [
    laneOf(tenantId, subscriptionId, false),
    laneOf(tenantId, subscriptionId, true),
  ];
  let lastCalls: NodeJS.Timeout | undefined;
  const stop = (): void => {
    stopping.abort();
    lastCalls ??= setTimeout(() => calls.abort(), LAST_CALLS_MS);
  };
  held.addEventListener('abort', stop);
  if (held.aborted) stop();
  try {
    const after = await deps.events.head();
    await Promise.all([
      follow(deps, after, stopping.signal, (event) => {
        const tenant = dataOf(TenantStatusChanged, event);
        if (tenant !== undefined) {
          for (const [key, lane] of lanes) if (key.startsWith(`${tenant.tenant_id}/`)) lane.wake();
          return;
        }
        const { subscription_id } = concerned.parse(event.data);
        const [parallel, ordered] = lanesOf(event.tenantId, subscription_id);
        const made = dataOf(DeliveryScheduled, event);
        if (made !== undefined) return parallel.offer(made.delivery_id, event);
        parallel.wake(event.position);
        ordered.wake(event.position);
      }),
      (async () => {
        for await (const { tenantId, subscriptionId } of deps.queue.subscriptions(after)) {
          if (stopping.signal.aborted) return;
          lanesOf(tenantId, subscriptionId);
        }
      })(),
    ]);
  } finally {
    stop();
    held.removeEventListener('abort', stop);
    await Promise.all(running);
    clearTimeout(lastCalls);
  }
};

/** What gives a lane something to do, or nothing more to do. */
const TYPES = [
  DeliveryScheduled,
  DeliveryReplayRequested,
  WebhookPaused,
  WebhookActivated,
  WebhookDeleted,
  TenantStatusChanged,
].map(({ type }) => type);

/** Events until aborted, from `after` on. */
const follow = (
  { follower, codec, states }: DispatcherDeps,
  after: Position | undefined,
  signal: AbortSignal,
  onEvent: (event: LoggedEvent) => void,
): Promise<void> =>
  follower.run({ after, filter: { types: TYPES }, signal }, ({ events }) => {
    for (const stored of events) {
      // The state of the stream in memory may be older than the event.
      states.onEvent(stored.stream, stored.revision);
      onEvent(codec.decode(stored));
    }
  });
