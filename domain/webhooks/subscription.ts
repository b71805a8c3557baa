import { z } from 'zod';
import { DomainError, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import {
  type Changes,
  changedMembers,
  type DecisionContext,
  folded,
  type StreamType,
} from '../core/stream-type.ts';
import type { Plan } from '../tenancy/tenant.ts';
import { ALL_EVENTS, eventsOf, type Subscribed, WEBHOOK_EVENTS } from './event-types.ts';
import { checkActive, checkTotal } from './subscription-limits.ts';

/**
 * The webhook subscriptions of a tenant (specification, Webhook subscription; decisions, section 8), all in the
 * stream `webhooks-main`, so that the plan's limit holds under concurrent requests. A key for each subscription seals
 * its secrets and is destroyed when the subscription is deleted.
 */

// Events

const base = { subscription_id: z.string() };
const events = z.array(z.enum([...WEBHOOK_EVENTS, ALL_EVENTS]));
const owner = { kind: 'webhook', id: 'subscription_id' } as const;

export const WebhookCreated = defineEvent(
  'WebhookCreated',
  z.object({ ...base, url: z.string(), events, description: z.string(), secret: z.string() }),
  { personal: { secret: owner }, secret: ['secret'] },
);

export const WebhookChanged = defineEvent(
  'WebhookChanged',
  z.object({
    ...base,
    url: z.string().optional(),
    events: events.optional(),
    description: z.string().optional(),
  }),
);

/** `dead_letters`: ten distinct dead letters without a success between them. */
export const WebhookPaused = defineEvent(
  'WebhookPaused',
  z.object({ ...base, reason: z.enum(['request', 'dead_letters']) }),
);

export const WebhookActivated = defineEvent('WebhookActivated', z.object(base));

/** Until `previous_until`, both the new and the previous secret sign; an older secret no longer signs. */
export const WebhookSecretRotated = defineEvent(
  'WebhookSecretRotated',
  z.object({ ...base, secret: z.string(), previous_until: z.string() }),
  { personal: { secret: owner }, secret: ['secret'] },
);

/** `source_position`: position of the event that dead-lettered the delivery. */
export const WebhookDeadLetterCounted = defineEvent(
  'WebhookDeadLetterCounted',
  z.object({ ...base, delivery_id: z.string(), source_position: z.string() }),
);

/** A delivery succeeded at `source_position`: the count restarts. */
export const WebhookDeadLettersCleared = defineEvent(
  'WebhookDeadLettersCleared',
  z.object({ ...base, source_position: z.string() }),
);

/** Requests a replay of the dead letters up to the time `until`; `count` is the number of these dead letters. */
export const WebhookDeadLettersReplayed = defineEvent(
  'WebhookDeadLettersReplayed',
  z.object({ ...base, replay_id: z.string(), until: z.string(), count: z.number() }),
);

export const WebhookDeleted = defineEvent('WebhookDeleted', z.object(base));

export const subscriptionEvents = [
  WebhookCreated,
  WebhookChanged,
  WebhookPaused,
  WebhookActivated,
  WebhookSecretRotated,
  WebhookDeadLetterCounted,
  WebhookDeadLettersCleared,
  WebhookDeadLettersReplayed,
  WebhookDeleted,
] as const;
export type SubscriptionEvent = EventOf<(typeof subscriptionEvents)[number]>;

// State

export interface Subscription {
  readonly id: string;
  readonly url: string;
  readonly events: readonly Subscribed[];
  readonly description: string;
  readonly state: 'active' | 'paused';
  /** Sealed. */
  readonly secret: string;
  /** Sealed; also signs until `until` (ms). */
  readonly previous?: { readonly secret: string; readonly until: number } | undefined;
  /** ms */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly secretRotatedAt?: number | undefined;
  /** Time of the latest activation; earlier dead letters do not count. */
  readonly activatedAt: number;
  /** Ids of dead letters since the last success or activation; at most ten. */
  readonly deadLetters: readonly string[];
  /** Position of the last outcome that changed `deadLetters`. */
  readonly countedTo: string;
}

export interface Subscriptions {
  readonly byId: Readonly<Record<string, Subscription>>;
}

/** Undefined for an unknown id. */
export const subscriptionIn = ({ byId }: Subscriptions, id: string): Subscription | undefined =>
  Object.hasOwn(byId, id) ? byId[id] : undefined;

/** Folds the events of one subscription; undefined while the subscription does not exist. */
export const evolveSubscription = folded<Subscription | undefined, SubscriptionEvent>({
  WebhookCreated: (_before, { subscription_id: id, ...data }, { at }) => ({
    id,
    ...data,
    state: 'active',
    createdAt: at,
    updatedAt: at,
    activatedAt: at,
    deadLetters: [],
    countedTo: '',
  }),
  WebhookChanged: (before, { url, events, description }, { at }) =>
    before && {
      ...before,
      url: url ?? before.url,
      events: events ?? before.events,
      description: description ?? before.description,
      updatedAt: at,
    },
  WebhookPaused: (before, _data, { at }) => before && { ...before, state: 'paused', updatedAt: at },
  WebhookActivated: (before, _data, { at }) =>
    before && { ...before, state: 'active', updatedAt: at, activatedAt: at, deadLetters: [] },
  WebhookSecretRotated: (before, { secret, previous_until }, { at }) => {
    if (before === undefined) return undefined;
    const previous = { secret: before.secret, until: Date.parse(previous_until) };
    return { ...before, secret, previous, updatedAt: at, secretRotatedAt: at };
  },
  WebhookDeadLetterCounted: (before, { delivery_id, source_position: countedTo }) =>
    before && { ...before, deadLetters: [...before.deadLetters, delivery_id], countedTo },
  WebhookDeadLettersCleared: (before, { source_position: countedTo }) =>
    before && { ...before, deadLetters: [], countedTo },
  WebhookDeadLettersReplayed: (before) => before,
  WebhookDeleted: () => undefined,
});

export const subscriptionsStream: StreamType<Subscriptions, SubscriptionEvent> = {
  category: 'webhooks',
  stateVersion: 1,
  initial: { byId: {} },
  evolve: ({ byId }, event, meta) => {
    const id = event.data.subscription_id;
    const after = evolveSubscription(subscriptionIn({ byId }, id), event, meta);
    if (after !== undefined) return { byId: { ...byId, [id]: after } };
    const { [id]: _gone, ...others } = byId;
    return { byId: others };
  },
};

/** Id of the only stream: `<tenant>.webhooks-main`. */
export const SUBSCRIPTIONS = 'main';

// Commands and decide

/** @throws `not_found` */
export const subscriptionOf = (state: Subscriptions, id: string): Subscription => {
  const found = subscriptionIn(state, id);
  if (found === undefined) throw notFound();
  return found;
};

/** @throws `not_found`, `subscription_paused` */
export const checkNotPaused = (state: Subscriptions, id: string): void => {
  if (subscriptionOf(state, id).state !== 'paused') return;
  throw new DomainError('subscription_paused', 'The subscription is paused.');
};

interface CreateSubscription extends Pick<Subscription, 'id' | 'url' | 'events' | 'description' | 'secret'> {
  readonly plan: Plan;
}

/** A repeated command gives no events. @throws `plan_required`, `subscription_limit_reached` */
export const createSubscription = (
  state: Subscriptions,
  { id, url, events, description, secret, plan }: CreateSubscription,
): readonly SubscriptionEvent[] => {
  if (Object.hasOwn(state.byId, id)) return [];
  const all = Object.values(state.byId);
  checkActive(all, plan);
  checkTotal(all);
  return decided(WebhookCreated, {
    subscription_id: id,
    url,
    events: [...eventsOf(events)],
    description,
    secret,
  });
};

export type ChangeSubscription = Changes<Pick<Subscription, 'url' | 'events' | 'description' | 'state'>>;

/** Equal values change nothing. @throws `not_found`; on activation `plan_required`, `subscription_limit_reached` */
export const changeSubscription = (
  state: Subscriptions,
  id: string,
  change: ChangeSubscription,
  plan: Plan,
): readonly SubscriptionEvent[] => {
  const now = subscriptionOf(state, id);
  const subscription_id = id;
  const made: SubscriptionEvent[] = [];
  const { url, description } = change;
  const { events, ...values } = changedMembers<Pick<Subscription, 'url' | 'events' | 'description'>>(now, {
    url,
    events: change.events && eventsOf(change.events),
    description,
  });
  if (events !== undefined || Object.keys(values).length > 0) {
    made.push(...decided(WebhookChanged, { subscription_id, ...values, events: events && [...events] }));
  }
  if (change.state === 'paused' && now.state === 'active') {
    made.push({ type: 'WebhookPaused', data: { subscription_id, reason: 'request' } });
  }
  if (change.state === 'active' && now.state === 'paused') {
    checkActive(Object.values(state.byId), plan);
    made.push({ type: 'WebhookActivated', data: { subscription_id } });
  }
  return made;
};

/** @param graceMs how long the present secret still signs after the rotation @throws `not_found` */
export const rotateSecret = (
  state: Subscriptions,
  id: string,
  { secret, graceMs }: { readonly secret: string; readonly graceMs: number },
  { now }: DecisionContext,
): readonly SubscriptionEvent[] => {
  subscriptionOf(state, id);
  const previous_until = new Date(now + graceMs).toISOString();
  return decided(WebhookSecretRotated, { subscription_id: id, secret, previous_until });
};

/** @throws `not_found` */
export const deleteSubscription = (state: Subscriptions, id: string): readonly SubscriptionEvent[] => {
  subscriptionOf(state, id);
  return decided(WebhookDeleted, { subscription_id: id });
};

/** @throws `not_found`, `subscription_paused` */
export const replayDeadLetters = (
  state: Subscriptions,
  id: string,
  replay: { readonly id: string; readonly until: string; readonly count: number },
): readonly SubscriptionEvent[] => {
  checkNotPaused(state, id);
  if (replay.count === 0) return [];
  return decided(WebhookDeadLettersReplayed, {
    subscription_id: id,
    replay_id: replay.id,
    until: replay.until,
    count: replay.count,
  });
};
