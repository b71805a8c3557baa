import type { OutboundAnswer, OutboundRequest } from '../../../application/ports/outbound-http.ts';
import { uuidFromName } from '../../../application/request-context.ts';
import { PLATFORM } from '../../../application/streams.ts';
import { Attempts } from '../../../application/webhooks/attempts.ts';
import type { DeliveryQueue } from '../../../application/webhooks/backlog.ts';
import { runWebhookDispatcher } from '../../../application/webhooks/dispatcher.ts';
import { Turns } from '../../../application/webhooks/turns.ts';
import { type TenantEvent, tenantDecider } from '../../../domain/tenancy/tenant.ts';
import {
  deliveryDecider,
  requestReplay,
  type ScheduledDelivery,
  scheduleDelivery,
} from '../../../domain/webhooks/delivery.ts';
import type { DeliveryEvent } from '../../../domain/webhooks/delivery-events.ts';
import {
  SUBSCRIPTIONS,
  type SubscriptionEvent,
  subscriptionsDecider,
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

/** Time that stands still until it is moved; who sleeps wakes then. */
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
    /** ms until somebody wakes. */
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
    decider: subscriptionsDecider,
    id: SUBSCRIPTIONS,
    cause: cause('c'),
    decide: () => events,
  });

export const writeTenant = (node: TestNode, tenantId: string, status: 'active' | 'suspended') =>
  node.commands.execute({
    tenantId: PLATFORM,
    decider: tenantDecider,
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
  const { state } = await node.states.load(tenantId, deliveryDecider, id);
  if (state.kind !== 'scheduled') throw new Error('no such delivery');
  return state;
};

/** A delivery as it was at a place in the log. */
const stateUpTo = async (on: TestNode, tenantId: string, id: string, upTo: number) => {
  let { initial: state } = deliveryDecider;
  for (const stored of await on.events.readStream(`${tenantId}.delivery-${id}`)) {
    if (Number.parseInt(stored.position, 16) > upTo) break;
    const event = on.codec.decode(stored);
    // An event of a delivery's stream.
    state = deliveryDecider.evolve(state, event as unknown as DeliveryEvent, {
      at: event.at,
      revision: event.revision,
    });
  }
  return { state };
};

/** A tenant `acme` with the subscriptions `one` and `two`, on nodes that share what they store. */
export const dispatching = async (options: Partial<SharedStores> = {}) => {
  const clock = sleepyClock();
  const stores = { ...memoryStores(), ...options };
  const node = startNode({ ...stores, clock });
  await writeSubscription(node, 'acme', hook('one'), hook('two'));
  const calls: { call: OutboundRequest; at: number }[] = [];
  const scheduled: { id: string; subscriptionId: string; tenantId: string }[] = [];
  const looks = { count: 0 };
  let hidden = false;
  let behind = 0;
  let answers: Answers = () => answered(200);

  const schedule = async (name: string, subscriptionId = 'one', tenantId = 'acme'): Promise<string> => {
    const id = uuidFromName(name);
    scheduled.push({ id, subscriptionId, tenantId });
    await node.commands.execute({
      tenantId,
      decider: deliveryDecider,
      id,
      cause: cause(name),
      decide: (state) =>
        scheduleDelivery(state, { id, subscriptionId, event: 'e', encoding: 'plain', bodyParts: [name] }),
    });
    return id;
  };

  const replay = (id: string, replayId: string, order?: string) =>
    node.commands.execute({
      tenantId: 'acme',
      decider: deliveryDecider,
      id,
      cause: cause(replayId),
      decide: (state): readonly DeliveryEvent[] =>
        requestReplay(state, { id: replayId, dueAt: clock.now(), ...(order === undefined ? {} : { order }) }),
    });

  const attemptsOf = (on: TestNode): Attempts =>
    new Attempts({
      ...on,
      metrics: silentMetrics,
      http: {
        request: async (call, signal) => {
          calls.push({ call, at: clock.now() });
          const answer = await answers(call);
          signal?.throwIfAborted();
          return answer;
        },
      },
      clock,
      random: () => 0,
      sleep: (ms) => new Promise((resolve) => setTimeout(resolve, Math.min(ms, 5))),
      retrySeconds: TABLE,
      timeoutMs: 10_000,
    });

  /** As the read model would say, without being behind. */
  const queueOf = (on: TestNode): DeliveryQueue => ({
    subscriptions: async function* () {
      const seen = new Map(scheduled.map((each) => [`${each.tenantId}/${each.subscriptionId}`, each]));
      yield* seen.values();
    },
    pending: async ({ tenantId, subscriptionId, ordered }, limit, seen) => {
      looks.count += 1;
      if (hidden) return [];
      // Who does not wait for it sees what was so many events ago, and no newer ones.
      const head = Number.parseInt((await on.events.head()) ?? '0', 16);
      const upTo = seen === undefined ? head - behind : head;
      const own = scheduled.filter(
        (each) => each.tenantId === tenantId && each.subscriptionId === subscriptionId,
      );
      const states =
        upTo === head
          ? await Promise.all(own.map(({ id }) => on.states.load(tenantId, deliveryDecider, id)))
          : await Promise.all(own.map(({ id }) => stateUpTo(on, tenantId, id, upTo)));
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
  });

  const reads = await openSqliteReadStore({ path: ':memory:' });
  const run = (on: TestNode = node, owner = 'node') => {
    const stopping = new AbortController();
    const deps = {
      ...on,
      clock,
      attempts: attemptsOf(on),
      turns: new Turns({ total: 64, perTenant: 32, reserved: 4 }),
      queue: queueOf(on),
      sleep: clock.sleep,
    };
    const lease = { store: reads, logger: on.logger, owner, ttlMs: 60_000 };
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
    /** So many events the read model is behind, for those who do not wait for it. */
    lag: (events: number) => {
      behind = events;
    },
    /** Whether the read model knows of nothing. */
    hide: (on: boolean) => {
      hidden = on;
    },
    schedule,
    replay,
    attemptsOf,
    run,
    answer: (next: Answers) => {
      answers = next;
    },
  };
};
