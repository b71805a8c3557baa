import type { DecisionContext } from '../decider.ts';
import { DomainError, notFound } from '../errors.ts';
import type { Plan } from '../tenancy/tenant.ts';
import { eventsOf, type Subscribed } from './event-types.ts';
import type { Subscription, SubscriptionEvent, Subscriptions } from './subscription.ts';

/** What may be done with the webhook subscriptions of a tenant (decisions, section 8). */

/** Active subscriptions; null: as many as one likes. */
const CAPS: Readonly<Record<Plan, number | null>> = {
  free: 0,
  hobby: 1,
  pro: 5,
  business: 25,
  enterprise: null,
};

/** In all, whatever their state and the plan: what one command looks at and one snapshot holds stays bounded. */
export const MAX_SUBSCRIPTIONS = 1_000;

/** So many distinct dead letters without a success between them pause a subscription. */
export const DEAD_LETTERS_TO_PAUSE = 10;

export const planRequired = (): DomainError =>
  new DomainError('plan_required', 'Webhooks are part of the paid plans.');

export const subscriptionPaused = (): DomainError =>
  new DomainError('subscription_paused', 'The subscription is paused.');

/** @throws `not_found` */
export const subscriptionOf = ({ byId }: Subscriptions, id: string): Subscription => {
  const found = Object.hasOwn(byId, id) ? byId[id] : undefined;
  if (found === undefined) throw notFound();
  return found;
};

/** @throws `plan_required`, `subscription_limit_reached` */
const checkRoom = ({ byId }: Subscriptions, plan: Plan): void => {
  const limit = CAPS[plan];
  if (limit === null) return;
  if (limit === 0) throw planRequired();
  const active = Object.values(byId).filter(({ state }) => state === 'active').length;
  if (active < limit) return;
  throw new DomainError('subscription_limit_reached', 'The plan allows no further active subscription.', {
    limit,
    active,
  });
};

/** @throws `subscription_limit_reached` */
const checkTotal = ({ byId }: Subscriptions): void => {
  const all = Object.values(byId);
  if (all.length < MAX_SUBSCRIPTIONS) return;
  const active = all.filter(({ state }) => state === 'active').length;
  throw new DomainError(
    'subscription_limit_reached',
    `A tenant has at most ${MAX_SUBSCRIPTIONS} subscriptions, paused ones included.`,
    { limit: MAX_SUBSCRIPTIONS, active },
  );
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
  checkRoom(state, plan);
  checkTotal(state);
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
    checkRoom(state, plan);
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

/** How a delivery ended, and where and when (ms) the log says so. */
export interface DeliveryEnd {
  readonly subscriptionId: string;
  readonly deliveryId: string;
  readonly outcome: 'delivered' | 'dead';
  readonly position: string;
  readonly at: number;
}

/**
 * Ends come in the order of the log, each perhaps more than once: those up to the last that was counted are passed
 * over. The tenth distinct dead letter pauses.
 */
export const countEnd = ({ byId }: Subscriptions, end: DeliveryEnd): readonly SubscriptionEvent[] => {
  const { subscriptionId: subscription_id, deliveryId: delivery_id, position: source_position } = end;
  const now = Object.hasOwn(byId, subscription_id) ? byId[subscription_id] : undefined;
  if (now === undefined || source_position <= now.countedTo) return [];
  if (end.outcome === 'delivered') {
    if (now.deadLetters.length === 0) return [];
    return [{ type: 'WebhookDeadLettersCleared', data: { subscription_id, source_position } }];
  }
  if (now.state === 'paused' || end.at < now.activatedAt || now.deadLetters.includes(delivery_id)) return [];
  const counted: SubscriptionEvent = {
    type: 'WebhookDeadLetterCounted',
    data: { subscription_id, delivery_id, source_position },
  };
  return now.deadLetters.length + 1 < DEAD_LETTERS_TO_PAUSE
    ? [counted]
    : [counted, { type: 'WebhookPaused', data: { subscription_id, reason: 'dead_letters' } }];
};
