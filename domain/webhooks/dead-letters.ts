import { decided } from '../core/event.ts';
import {
  type SubscriptionEvent,
  type Subscriptions,
  subscriptionIn,
  WebhookDeadLettersCleared,
} from './subscription.ts';

/** Counts dead letters per subscription, and pauses a subscription with too many (specification, Webhook delivery). */

/** Number of distinct dead letters, without a success between them, that pauses a subscription. */
const DEAD_LETTERS_TO_PAUSE = 10;

/** How a delivery ended, with the position and time (ms) of the event. */
interface DeliveryEnd {
  readonly subscriptionId: string;
  readonly deliveryId: string;
  readonly outcome: 'delivered' | 'dead';
  readonly position: string;
  readonly at: number;
}

/**
 * Counts each end once: ends come in log order and may be repeated; an end at or before `countedTo` is skipped.
 * The tenth distinct dead letter pauses the subscription. Dead letters before the last activation or during a pause do
 * not count.
 */
export const countEnd = (state: Subscriptions, end: DeliveryEnd): readonly SubscriptionEvent[] => {
  const { subscriptionId: subscription_id, deliveryId: delivery_id, position: source_position } = end;
  const now = subscriptionIn(state, subscription_id);
  if (now === undefined || source_position <= now.countedTo) return [];
  if (end.outcome === 'delivered') {
    if (now.deadLetters.length === 0) return [];
    return decided(WebhookDeadLettersCleared, { subscription_id, source_position });
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
