import { z } from 'zod';
import { TenantStatusChanged } from '../../domain/tenancy/tenant.ts';
import { DeliveryReplayRequested, DeliveryScheduled } from '../../domain/webhooks/delivery.ts';
import { WebhookActivated, WebhookDeleted, WebhookPaused } from '../../domain/webhooks/subscription.ts';
import type { StreamStates } from '../core/commands/stream-states.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../core/events/event-codec.ts';
import { clearTimeout, setTimeout, type Timer } from '../core/runtime/timers.ts';
import { holdLease, type LeaseOptions } from '../core/subscriptions/lease.ts';
import type { LogFollower } from '../core/subscriptions/log-follower.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import type { Metrics } from '../ports/metrics.ts';
import { leaseNameOfSubscriber } from '../ports/read-store.ts';
import type { DeliveryPressure } from './delivery-pressure.ts';
import { EndpointWorker, type EndpointWorkerDeps } from './endpoint-worker.ts';

interface DispatcherDeps extends EndpointWorkerDeps {
  readonly events: Pick<EventStore, 'end'>;
  readonly follower: LogFollower;
  readonly codec: EventCodec;
  readonly states: StreamStates;
  readonly metrics: Pick<Metrics, 'atScrape' | 'pendingDeliveries'>;
  readonly pressure: Pick<DeliveryPressure, 'watch'>;
}

/** How long (ms) running calls may still take when the dispatcher stops. */
const LAST_CALLS_MS = 2000;

const withSubscriptionId = z.object({ subscription_id: z.string() });

/**
 * Sends new deliveries from the log, and waiting deliveries from the read model. Runs on one node under a lease.
 * While two nodes overlap, a receiver may get an attempt twice, with the same number; the attempt is recorded once.
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
  const workers = new Map<string, EndpointWorker>();
  const running = new Set<Promise<void>>();
  const workerOf = (tenantId: string, subscriptionId: string, ordered: boolean): EndpointWorker => {
    const key = `${tenantId}/${subscriptionId}/${ordered}`;
    const present = workers.get(key);
    if (present !== undefined) return present;
    const name = { tenantId, subscriptionId, ordered };
    const worker = new EndpointWorker({ ...deps, name, stopping: stopping.signal, calls: calls.signal });
    workers.set(key, worker);
    const run = worker.run(() => workers.delete(key)).finally(() => running.delete(run));
    running.add(run);
    return worker;
  };
  const workersOf = (tenantId: string, subscriptionId: string): readonly [EndpointWorker, EndpointWorker] => [
    workerOf(tenantId, subscriptionId, false),
    workerOf(tenantId, subscriptionId, true),
  ];
  let lastCalls: Timer | undefined;
  const stop = (): void => {
    stopping.abort();
    lastCalls ??= setTimeout(() => calls.abort(), LAST_CALLS_MS);
  };
  held.addEventListener('abort', stop);
  if (held.aborted) stop();
  const stopReporting = deps.metrics.atScrape(() => reportWaiting(workers.values(), deps));
  const stopWatching = deps.pressure.watch((tenantId) => {
    let oldest: number | undefined;
    for (const worker of workers.values()) {
      const since = worker.waitingSinceOf(tenantId);
      if (since !== undefined && since < (oldest ?? Number.POSITIVE_INFINITY)) oldest = since;
    }
    return oldest;
  });
  try {
    const after = await deps.events.end();
    await Promise.all([
      follow(deps, after, stopping.signal, (event) => {
        const tenant = dataOf(TenantStatusChanged, event);
        if (tenant !== undefined) {
          for (const [key, worker] of workers) if (key.startsWith(`${tenant.tenant_id}/`)) worker.wake();
          return;
        }
        const { subscription_id } = withSubscriptionId.parse(event.data);
        const scheduled = dataOf(DeliveryScheduled, event);
        if (scheduled !== undefined)
          return workerOf(event.tenantId, subscription_id, false).offer(scheduled.delivery_id, event);
        const [parallel, ordered] = workersOf(event.tenantId, subscription_id);
        parallel.wake(event.position);
        ordered.wake(event.position);
      }),
      (async () => {
        for await (const { tenantId, subscriptionId } of deps.pending.subscriptions(after)) {
          if (stopping.signal.aborted) return;
          workersOf(tenantId, subscriptionId);
        }
      })(),
    ]);
  } finally {
    stop();
    held.removeEventListener('abort', stop);
    await Promise.all(running);
    clearTimeout(lastCalls);
    stopReporting();
    stopWatching();
    deps.metrics.pendingDeliveries(undefined, undefined);
  }
};

const reportWaiting = (
  workers: Iterable<EndpointWorker>,
  { clock, metrics }: Pick<DispatcherDeps, 'clock' | 'metrics'>,
): void => {
  let count = 0;
  let dueAt = Number.POSITIVE_INFINITY;
  for (const { queue } of workers) {
    const { summary } = queue;
    count += summary.count;
    dueAt = Math.min(dueAt, summary.dueAt);
  }
  metrics.pendingDeliveries(count, Math.max(0, clock.now() - dueAt) / 1000);
};

/** Events that add deliveries to a worker, or change whether the worker may send them. */
const TYPES = [
  DeliveryScheduled,
  DeliveryReplayRequested,
  WebhookPaused,
  WebhookActivated,
  WebhookDeleted,
  TenantStatusChanged,
].map(({ type }) => type);

/** Handles events after `after` until aborted. Skips an event that cannot be decoded: it must not stop other tenants. */
const follow = (
  { follower, codec, states, logger }: DispatcherDeps,
  after: Position | undefined,
  signal: AbortSignal,
  onEvent: (event: LoggedEvent) => void,
): Promise<void> =>
  follower.run({ after, filter: { types: TYPES }, onPassed: () => true, signal }, ({ events }) => {
    for (const stored of events) {
      // The cached state may be older than the event.
      states.onEvent(stored.stream, stored.revision);
      try {
        onEvent(codec.decode(stored));
      } catch (error) {
        logger.error({ err: error, event_id: stored.id }, 'the webhook dispatcher skipped an event');
      }
    }
  });
