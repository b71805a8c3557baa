import { uuidFromName } from '../../../application/core/commands/request-context.ts';
import { FairLimiter } from '../../../application/core/concurrency/fair-limiter.ts';
import type { LeaseOptions } from '../../../application/core/subscriptions/lease.ts';
import type { OutboundAnswer, OutboundRequest } from '../../../application/ports/outbound-http.ts';
import { DeliveryAttempts } from '../../../application/webhooks/delivery-attempts.ts';
import { DeliveryBatches } from '../../../application/webhooks/delivery-batches.ts';
import { DeliveryPressure } from '../../../application/webhooks/delivery-pressure.ts';
import { runWebhookDispatcher } from '../../../application/webhooks/dispatcher.ts';
import type { PendingDeliveries } from '../../../application/webhooks/endpoint-queue.ts';
import { storedBody } from '../../../application/webhooks/event-data.ts';
import { PLATFORM } from '../../../domain/core/platform.ts';
import { type TenantEvent, tenantStream } from '../../../domain/tenancy/tenant.ts';
import {
  type DeliveryEvent,
  deliveryStream,
  requestReplay,
  type ScheduledDelivery,
  scheduleDelivery,
} from '../../../domain/webhooks/delivery.ts';
import {
  SUBSCRIPTIONS,
  type SubscriptionEvent,
  subscriptionsStream,
} from '../../../domain/webhooks/subscription.ts';
import { openSqliteReadStore } from '../../../infrastructure/read-store/sqlite/store.ts';
import { silentMetrics, testClock } from '../../support/fakes.ts';
import { memoryStores, type SharedStores, startNode, type TestNode } from '../../support/node.ts';

export const TABLE = [60, 300, 1800, 7200];
export const cause = (causationId: string) => ({
  actor: { kind: 'user' as const, id: 'ann' },
  correlationId: 'request',
  causationId,
});

/** A clock that only tests advance; each advance wakes the sleepers that are due. */
export const sleepyClock = () => {
  const clock = testClock();
  const sleepers = new Set<{ at: number; wake: () => void }>();
  return {
    ...clock,
    sleep: (ms: number, signal: AbortSignal): Promise<void> =>
      new Promise((resolve) => {
        if (signal.aborted) return resolve();
        const wake = (): void => {
          sleepers.delete(sleeper);
          resolve();
        };
        const sleeper = { at: clock.now() + ms, wake };
        sleepers.add(sleeper);
        signal.addEventListener('abort', wake);
      }),
    advance: (ms: number): void => {
      clock.advance(ms);
      for (const sleeper of [...sleepers]) if (sleeper.at <= clock.now()) sleeper.wake();
    },
    /** ms until the next sleeper wakes. */
    next: (): number | undefined => {
      const [first] = [...sleepers].map(({ at }) => at).sort((a, b) => a - b);
      return first === undefined ? undefined : first - clock.now();
    },
  };
};

export type Answers = (call: OutboundRequest) => Promise<OutboundAnswer> | OutboundAnswer;
export const answered = (status: number, headers: Record<string, string> = {}): OutboundAnswer => ({
  kind: 'answered',
  status,
  headers,
  body: Buffer.from(''),
  truncated: false,
});

export const writeSubscription = (node: TestNode, tenantId: string, ...events: SubscriptionEvent[]) =>
  node.commands.execute({
    tenantId,
    type: subscriptionsStream,
    id: SUBSCRIPTIONS,
    cause: cause('c'),
    decide: () => events,
  });

export const writeTenant = (node: TestNode, tenantId: string, status: 'active' | 'suspended') =>
  node.commands.execute({
    tenantId: PLATFORM,
    type: tenantStream,
    id: tenantId,
    cause: cause('c'),
    decide: (tenant): readonly TenantEvent[] => [
      ...(tenant.exists ? [] : [created(tenantId)]),
      { type: 'TenantStatusChanged', data: { tenant_id: tenantId, status } },
    ],
  });

const created = (tenant_id: string): TenantEvent => ({
  type: 'TenantCreated',
  data: {
    tenant_id,
    name: 'A tenant',
    plan: 'enterprise',
    partner_id: null,
    entitlements: { ledger: false, assistant: false },
    currency: 'EUR',
    timezone: 'UTC',
  },
});

export const hook = (id: string, events: ['*'] | ['entity.created'] = ['*']): SubscriptionEvent => ({
  type: 'WebhookCreated',
  data: {
    subscription_id: id,
    url: `https://${id}.example/`,
    events: [...events],
    description: '',
    secret: `whsec_${id}`,
  },
});

export const deliveryOf = async (
  node: TestNode,
  tenantId: string,
  id: string,
): Promise<ScheduledDelivery> => {
  const { state } = await node.states.load(tenantId, deliveryStream, id);
  if (state.kind !== 'scheduled') throw new Error('no such delivery');
  return state;
};

/** A delivery at a position of the log. */
const stateUpTo = async (on: TestNode, tenantId: string, id: string, upTo: number) => {
  let { initial: state } = deliveryStream;
  for (const stored of await on.events.readStream(`${tenantId}.delivery-${id}`)) {
    if (Number.parseInt(stored.position, 16) > upTo) break;
    const event = on.codec.decode(stored);
    // The stream has events of deliveries only.
    state = deliveryStream.evolve(state, event as unknown as DeliveryEvent, {
      at: event.at,
      revision: event.revision,
    });
  }
  return { state };
};

/** A tenant `acme` with the subscriptions `one` and `two`, on nodes with shared stores. */
export const dispatching = async (options: Partial<SharedStores> = {}) => {
  const clock = sleepyClock();
  const stores = { ...memoryStores(), ...options };
  const node = startNode({ ...stores, clock });
  await writeSubscription(node, 'acme', hook('one'), hook('two'));
  const calls: { call: OutboundRequest; at: number }[] = [];
  const scheduled: { id: string; subscriptionId: string; tenantId: string }[] = [];
  const looks = { count: 0 };
  /** As if the process were always busy. */
  const pressure = new DeliveryPressure(clock, () => 1);
  let hidden = false;
  let behind = 0;
  let answers: Answers = () => answered(200);

  const schedule = async (
    name: string,
    subscriptionId = 'one',
    tenantId = 'acme',
    body = name,
  ): Promise<string> => {
    const id = uuidFromName(name);
    scheduled.push({ id, subscriptionId, tenantId });
    await node.commands.execute({
      tenantId,
      type: deliveryStream,
      id,
      cause: cause(name),
      decide: (state) => scheduleDelivery(state, { id, subscriptionId, event: 'e', ...storedBody(body) }),
    });
    return id;
  };

  const replay = (id: string, replayId: string, order?: string) =>
    node.commands.execute({
      tenantId: 'acme',
      type: deliveryStream,
      id,
      cause: cause(replayId),
      decide: (state): readonly DeliveryEvent[] =>
        requestReplay(state, { id: replayId, dueAt: clock.now(), ...(order === undefined ? {} : { order }) }),
    });

  const senderOf = (on: TestNode) => {
    const deliveries = new DeliveryBatches({
      ...on,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
    });
    const attempts = new DeliveryAttempts({
      ...on,
      deliveries,
      http: {
        request: async (call, signal) => {
          calls.push({ call, at: clock.now() });
          const answer = await answers(call);
          signal?.throwIfAborted();
          return answer;
        },
      },
      clock,
      metrics: silentMetrics,
      random: () => 0,
      retrySeconds: TABLE,
      timeoutMs: 10_000,
    });
    return { deliveries, attempts };
  };

  /** The answers of the read model, up to date unless `lag` or `hide` is set. */
  const viewer = startNode({ ...stores, clock });
  const stateOf = (tenantId: string, id: string) =>
    viewer.states.refresh(`${tenantId}.delivery-${id}`, deliveryStream);
  const pending: PendingDeliveries = {
    subscriptions: async function* () {
      const seen = new Map(scheduled.map((each) => [`${each.tenantId}/${each.subscriptionId}`, each]));
      yield* seen.values();
    },
    of: async ({ tenantId, subscriptionId, ordered }, limit, seen) => {
      looks.count += 1;
      if (hidden) return [];
      // A read without waiting sees the state from `lag` events ago.
      const end = Number.parseInt((await viewer.events.end()) ?? '0', 16);
      const upTo = seen === undefined ? end - behind : end;
      const own = scheduled.filter(
        (each) => each.tenantId === tenantId && each.subscriptionId === subscriptionId,
      );
      const states =
        upTo === end
          ? await Promise.all(own.map(({ id }) => stateOf(tenantId, id)))
          : await Promise.all(own.map(({ id }) => stateUpTo(viewer, tenantId, id, upTo)));
      return states
        .flatMap(({ state }) => (state.kind === 'scheduled' ? [state] : []))
        .filter(({ dueAt, replay: owed }) => dueAt !== null && (owed?.order !== undefined) === ordered)
        .sort(
          (a, b) =>
            (a.dueAt ?? 0) - (b.dueAt ?? 0) || ((a.replay?.order ?? '') < (b.replay?.order ?? '') ? -1 : 1),
        )
        .map(({ id, dueAt }) => ({ id, dueAt: dueAt ?? 0 }))
        .slice(0, limit);
    },
  };

  const leases = await openSqliteReadStore({ path: ':memory:' });
  /**
   * Runs the dispatcher on a node.
   * @param options `store`: keeps the lease; a node with a store of its own sends while another node sends too.
   *   `slots`: the limit of concurrent calls.
   */
  const run = (
    on: TestNode = node,
    options: {
      readonly owner?: string;
      readonly store?: LeaseOptions['store'];
      readonly slots?: number;
    } = {},
  ) => {
    const { owner = 'node', store = leases, slots = 64 } = options;
    const stopping = new AbortController();
    const deps = {
      ...on,
      clock,
      ...senderOf(on),
      limiter: new FairLimiter({
        total: slots,
        perTenant: Math.ceil(slots / 2),
        reserved: Math.min(4, slots - 1),
      }),
      pending,
      metrics: silentMetrics,
      pressure,
      sleep: clock.sleep,
    };
    const lease = { store, logger: on.logger, owner, ttlMs: 60_000 };
    const done = runWebhookDispatcher(deps, lease, stopping.signal);
    return {
      end: async () => {
        stopping.abort();
        await done;
      },
    };
  };
  return {
    clock,
    stores,
    node,
    calls,
    looks,
    pressure,
    /** Sets how many events the read model is behind, for reads that do not wait. */
    lag: (events: number) => {
      behind = events;
    },
    /** Sets whether the read model appears empty. */
    hide: (on: boolean) => {
      hidden = on;
    },
    schedule,
    replay,
    run,
    answer: (next: Answers) => {
      answers = next;
    },
  };
};

/** For a suite: {@link dispatching} whose dispatchers end after each test. */
export const running = () => {
  const ends: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const end of ends.splice(0)) await end();
  });
  return async (...options: Parameters<typeof dispatching>) => {
    const village = await dispatching(...options);
    const run = (...args: Parameters<typeof village.run>) => {
      const started = village.run(...args);
      ends.push(started.end);
      return started;
    };
    return { ...village, run };
  };
};
