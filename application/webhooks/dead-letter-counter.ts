import { countEnd } from '../../domain/webhooks/dead-letters.ts';
import { DeliveryDeadLettered, DeliverySucceeded } from '../../domain/webhooks/delivery.ts';
import {
  SUBSCRIPTIONS,
  type Subscriptions,
  subscriptionIn,
  subscriptionsStream,
} from '../../domain/webhooks/subscription.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { ownerOf } from '../core/events/stream-name.ts';
import { systemCauseOf } from '../core/subscriptions/caused-by.ts';
import type { Subscriber } from '../core/subscriptions/subscriber.ts';
import type { StoredEvent } from '../ports/event-store.ts';

/**
 * Counts dead letters in log order; the tenth since the last success pauses the subscription (specification, Webhook
 * subscription). Each count carries the position of its event, so that a repeat has no effect.
 */
export const deadLetterCounter = (deps: { readonly streams: Streams }): Subscriber => {
  /** Tenants whose count this process has read since it took the lease; no other process counts meanwhile. */
  const known = new Set<string>();
  const cachedOf = (tenantId: string) =>
    deps.streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS).cached()?.state;
  /** The last state that was found to have no dead letters. */
  let clean: Subscriptions | undefined;
  const hasNone = (state: Subscriptions): boolean => {
    if (state === clean) return true;
    if (Object.values(state.byId).some(({ deadLetters }) => deadLetters.length > 0)) return false;
    clean = state;
    return true;
  };
  /** Whether the event is a success that changes nothing, since its subscription has no dead letters to reset. */
  const isNothing = (event: LoggedEvent): boolean => {
    const success = dataOf(DeliverySucceeded, event);
    if (success === undefined || !known.has(event.tenantId)) return false;
    const cached = cachedOf(event.tenantId) ?? { byId: {} };
    return subscriptionIn(cached, success.subscription_id)?.deadLetters.length === 0;
  };
  /** True for a success if its tenant has no dead letters. */
  const skips = ({ type, stream }: StoredEvent): boolean => {
    if (type !== DeliverySucceeded.type) return false;
    const tenantId = ownerOf(stream);
    const state = known.has(tenantId) ? cachedOf(tenantId) : undefined;
    return state !== undefined && hasNone(state);
  };
  const handle = async (event: LoggedEvent): Promise<void> => {
    const dead = dataOf(DeliveryDeadLettered, event);
    const end = dead ?? dataOf(DeliverySucceeded, event);
    if (end === undefined || isNothing(event)) return;
    await deps.streams
      .of(subscriptionsStream, event.tenantId, SUBSCRIPTIONS)
      .execute({ cause: systemCauseOf(event, 'webhooks') }, (state) =>
        countEnd(state, {
          subscriptionId: end.subscription_id,
          deliveryId: end.delivery_id,
          outcome: dead === undefined ? 'delivered' : 'dead',
          position: event.position,
          at: event.at,
        }),
      );
    known.add(event.tenantId);
  };
  return {
    name: 'webhook-dead-letter-counter',
    types: [DeliveryDeadLettered.type, DeliverySucceeded.type],
    begin: () => known.clear(),
    skips,
    handle,
    // Handles events one after another, since their order determines the count.
    handleAll: async (events) => {
      for (const event of events) if (!isNothing(event)) await handle(event);
    },
  };
};
