import { z } from 'zod';
import { DomainError, notFound } from '../core/errors.ts';
import { defineEvent, type EventMeta, type EventOf } from '../core/event.ts';
import type { DecisionContext, StreamType } from '../core/stream-type.ts';
import type { Plan } from '../tenancy/tenant.ts';
import { ALL_EVENTS, eventsOf, type Subscribed, WEBHOOK_EVENTS } from './event-types.ts';
import { checkRoom, checkTotal } from './subscription-limits.ts';

/**
 * The webhook subscriptions of a tenant (specification, Webhook subscription; decisions, section 8). All are in one
 * stream, `webhooks-main`, so that the plan's cap holds under concurrent requests. Secrets are sealed with a key for each
 * subscription, which goes with it.
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

/** `dead_letters`: ten distinct ones without a success between them. */
export const WebhookPaused = defineEvent(
  'WebhookPaused',
  z.object({ ...base, reason: z.enum(['request', 'dead_letters']) }),
);

export const WebhookActivated = defineEvent('WebhookActivated', z.object(base));

/** The secret before this one signs as well until `previous_until`; one before that no more. */
export const WebhookSecretRotated = defineEvent(
  'WebhookSecretRotated',
  z.object({ ...base, secret: z.string(), previous_until: z.string() }),
  { personal: { secret: owner }, secret: ['secret'] },
);

/** `source_position`: where the log says that the delivery was given up. */
export const WebhookDeadLetterCounted = defineEvent(
  'WebhookDeadLetterCounted',
  z.object({ ...base, delivery_id: z.string(), source_position: z.string() }),
);

/** A delivery succeeded at `source_position`: counting begins anew. */
export const WebhookDeadLettersCleared = defineEvent(
  'WebhookDeadLettersCleared',
  z.object({ ...base, source_position: z.string() }),
);

/** Each delivery in the dead-letter log up to `until` is to be tried once more, `count` of them. */
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
  /** Sealed; signs until `until` (ms). */
  readonly previous?: { readonly secret: string; readonly until: number } | undefined;
  /** ms */
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly secretRotatedAt?: number | undefined;
  /** Since when it is active, or was; dead letters of before do not count. */
  readonly activatedAt: number;
  /** Ids of deliveries given up since the last success or activation, ten at most. */
  readonly deadLetters: readonly string[];
  /** How far in the log outcomes have been counted. */
  readonly countedTo: string;
}

export interface Subscriptions {
  readonly byId: Readonly<Record<string, Subscription>>;
}

/** One subscription; undefined while it does not exist. */
export const evolveSubscription = (
  before: Subscription | undefined,
  event: SubscriptionEvent,
  { at }: Pick<EventMeta, 'at'>,
): Subscription | undefined => {
  if (event.type === 'WebhookCreated') {
    const { subscription_id: id, url, events: wanted, description, secret } = event.data;
    const times = { createdAt: at, updatedAt: at, activatedAt: at };
    return {
      id,
      url,
      events: wanted,
      description,
      secret,
      state: 'active',
      ...times,
      deadLetters: [],
      countedTo: '',
    };
  }
  if (before === undefined) return undefined;
  switch (event.type) {
    case 'WebhookChanged': {
      const {
        url = before.url,
        events: wanted = before.events,
        description = before.description,
      } = event.data;
      return { ...before, url, events: wanted, description, updatedAt: at };
    }
    case 'WebhookPaused':
      return { ...before, state: 'paused', updatedAt: at };
    case 'WebhookActivated':
      return { ...before, state: 'active', updatedAt: at, activatedAt: at, deadLetters: [] };
    case 'WebhookSecretRotated': {
      const previous = { secret: before.secret, until: Date.parse(event.data.previous_until) };
      return { ...before, secret: event.data.secret, previous, updatedAt: at, secretRotatedAt: at };
    }
    case 'WebhookDeadLetterCounted': {
      const deadLetters = [...before.deadLetters, event.data.delivery_id];
      return { ...before, deadLetters, countedTo: event.data.source_position };
    }
    case 'WebhookDeadLettersCleared':
      return { ...before, deadLetters: [], countedTo: event.data.source_position };
    case 'WebhookDeadLettersReplayed':
      return before;
    case 'WebhookDeleted':
      return undefined;
    default:
      return event satisfies never;
  }
};

export const subscriptionsStream: StreamType<Subscriptions, SubscriptionEvent> = {
  category: 'webhooks',
  stateVersion: 1,
  initial: { byId: {} },
  evolve: ({ byId }, event, meta) => {
    const id = event.data.subscription_id;
    const { [id]: before, ...others } = byId;
    const after = evolveSubscription(before, event, meta);
    return { byId: after === undefined ? others : { ...others, [id]: after } };
  },
};

/** The id of the one stream: `<tenant>.webhooks-main`. */
export const SUBSCRIPTIONS = 'main';

// Commands and decide

export const subscriptionPaused = (): DomainError =>
  new DomainError('subscription_paused', 'The subscription is paused.');

/** @throws `not_found` */
export const subscriptionOf = ({ byId }: Subscriptions, id: string): Subscription => {
  const found = Object.hasOwn(byId, id) ? byId[id] : undefined;
  if (found === undefined) throw notFound();
  return found;
};

export interface CreateSubscription {
  readonly id: string;
  readonly url: string;
  readonly events: readonly Subscribed[];
  readonly description: string;
  readonly secret: string;
  readonly plan: Plan;
}

/** The same id again changes nothing. @throws `plan_required`, `subscription_limit_reached` */
export const createSubscription = (
  state: Subscriptions,
  { id, url, events, description, secret, plan }: CreateSubscription,
): readonly SubscriptionEvent[] => {
  if (Object.hasOwn(state.byId, id)) return [];
  const all = Object.values(state.byId);
  checkRoom(all, plan);
  checkTotal(all);
  const data = { subscription_id: id, url, events: [...eventsOf(events)], description, secret };
  return [{ type: 'WebhookCreated', data }];
};

export interface ChangeSubscription {
  readonly url?: string | undefined;
  readonly events?: readonly Subscribed[] | undefined;
  readonly description?: string | undefined;
  readonly state?: 'active' | 'paused' | undefined;
}

/** Equal values are no change. @throws `not_found`; when it becomes active, as {@link createSubscription} */
export const changeSubscription = (
  state: Subscriptions,
  id: string,
  change: ChangeSubscription,
  plan: Plan,
): readonly SubscriptionEvent[] => {
  const now = subscriptionOf(state, id);
  const subscription_id = id;
  const made: SubscriptionEvent[] = [];
  const wanted = change.events === undefined ? undefined : [...eventsOf(change.events)];
  const values = {
    ...(change.url === undefined || change.url === now.url ? {} : { url: change.url }),
    ...(wanted === undefined || wanted.join() === now.events.join() ? {} : { events: wanted }),
    ...(change.description === undefined || change.description === now.description
      ? {}
      : { description: change.description }),
  };
  if (Object.keys(values).length > 0) {
    made.push({ type: 'WebhookChanged', data: { subscription_id, ...values } });
  }
  if (change.state === 'paused' && now.state === 'active') {
    made.push({ type: 'WebhookPaused', data: { subscription_id, reason: 'request' } });
  }
  if (change.state === 'active' && now.state === 'paused') {
    checkRoom(Object.values(state.byId), plan);
    made.push({ type: 'WebhookActivated', data: { subscription_id } });
  }
  return made;
};

/** @param graceMs how long the present secret signs beside the new one @throws `not_found` */
export const rotateSecret = (
  state: Subscriptions,
  id: string,
  { secret, graceMs }: { readonly secret: string; readonly graceMs: number },
  { now }: DecisionContext,
): readonly SubscriptionEvent[] => {
  subscriptionOf(state, id);
  const previous_until = new Date(now + graceMs).toISOString();
  return [{ type: 'WebhookSecretRotated', data: { subscription_id: id, secret, previous_until } }];
};

/** @throws `not_found` */
export const deleteSubscription = (state: Subscriptions, id: string): readonly SubscriptionEvent[] => {
  subscriptionOf(state, id);
  return [{ type: 'WebhookDeleted', data: { subscription_id: id } }];
};

/** @throws `not_found`, `subscription_paused` */
export const replayDeadLetters = (
  state: Subscriptions,
  id: string,
  replay: { readonly id: string; readonly until: string; readonly count: number },
): readonly SubscriptionEvent[] => {
  if (subscriptionOf(state, id).state === 'paused') throw subscriptionPaused();
  if (replay.count === 0) return [];
  const data = { subscription_id: id, replay_id: replay.id, until: replay.until, count: replay.count };
  return [{ type: 'WebhookDeadLettersReplayed', data }];
};
