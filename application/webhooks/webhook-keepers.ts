import { DeliveryDeadLettered, DeliverySucceeded } from '../../domain/webhooks/delivery-events.ts';
import {
  SUBSCRIPTIONS,
  secretKeyOf,
  subscriptionsDecider,
  WebhookDeadLettersReplayed,
  WebhookDeleted,
} from '../../domain/webhooks/subscription.ts';
import { countEnd } from '../../domain/webhooks/subscription-decisions.ts';
import { dataOf, type LoggedEvent } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import type { StoredEvent } from '../ports/event-store.ts';
import type { KeyRing } from '../sealing.ts';
import type { StreamStates } from '../stream-states.ts';
import { parseStreamName } from '../streams.ts';
import type { Subscriber } from '../subscriber.ts';
import type { WebhookDeliveries } from '../webhook-deliveries.ts';
import { SubscriptionLookup } from '../webhooks/subscription-lookup.ts';
import { systemCause } from '../webhooks/system-cause.ts';

/**
 * Counts dead letters, in the order of the log, and so pauses a subscription at the tenth (specification, Webhook
 * subscription). What was counted carries its place in the log: seen twice, it counts once.
 */
export const deadLetterCounter = (deps: {
  readonly commands: CommandHandler;
  readonly states: StreamStates;
}): Subscriber => {
  /** Tenants whose count this process has looked up in the store since it began; nobody else counts meanwhile. */
  const known = new Set<string>();
  const subscriptions = new SubscriptionLookup(deps.states);
  /** Most deliveries succeed, and there is nothing to count back: that is seen at once. */
  const isNothing = (event: LoggedEvent): boolean => {
    const success = dataOf(DeliverySucceeded, event);
    if (success === undefined || !known.has(event.tenantId)) return false;
    return subscriptions.known(event.tenantId, success.subscription_id)?.deadLetters.length === 0;
  };
  /** Where no subscription of the tenant has a dead letter, which of them has succeeded need not be known. */
  const passesOver = ({ type, stream }: StoredEvent): boolean => {
    if (type !== DeliverySucceeded.type) return false;
    const { tenantId } = parseStreamName(stream);
    return known.has(tenantId) && subscriptions.haveNoDeadLetters(tenantId);
  };
  const handle = async (event: LoggedEvent): Promise<void> => {
    const dead = dataOf(DeliveryDeadLettered, event);
    const end = dead ?? dataOf(DeliverySucceeded, event);
    if (end === undefined || isNothing(event)) return;
    await deps.commands.execute({
      tenantId: event.tenantId,
      decider: subscriptionsDecider,
      id: SUBSCRIPTIONS,
      cause: systemCause(event),
      decide: (state) =>
        countEnd(state, {
          subscriptionId: end.subscription_id,
          deliveryId: end.delivery_id,
          outcome: dead === undefined ? 'delivered' : 'dead',
          position: event.position,
          at: event.at,
        }),
    });
    known.add(event.tenantId);
  };
  return {
    name: 'webhook-dead-letter-counter',
    types: [DeliveryDeadLettered.type, DeliverySucceeded.type],
    begin: () => known.clear(),
    passesOver,
    handle,
    // One after the other, as their order says what is counted.
    handleAll: async (events) => {
      for (const event of events) if (!isNothing(event)) await handle(event);
    },
  };
};

/** Asks for each delivery of a dead-letter log that is to be replayed; goes on where a crash cut it off. */
export const deadLetterReplayer = (deps: { readonly webhookDeliveries: WebhookDeliveries }): Subscriber => ({
  name: 'webhook-dead-letter-replayer',
  types: [WebhookDeadLettersReplayed.type],
  handle: async (event) => {
    const asked = dataOf(WebhookDeadLettersReplayed, event);
    if (asked !== undefined) await deps.webhookDeliveries.replayEach(event, asked);
  },
});

/**
 * Destroys the secrets of deleted subscriptions. The request that deletes does so itself; this makes good what a crash
 * in between left.
 */
export const webhookSecretEraser = (deps: { readonly keys: KeyRing }): Subscriber => ({
  name: 'webhook-secret-eraser',
  types: [WebhookDeleted.type],
  handle: async (event) => {
    const deleted = dataOf(WebhookDeleted, event);
    if (deleted !== undefined) await deps.keys.destroy(`${event.tenantId}/${secretKeyOf(deleted)}`);
  },
});
