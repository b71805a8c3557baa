import {
  SUBSCRIPTIONS,
  type SubscriptionEvent,
  type Subscriptions,
  subscriptionEvents,
  subscriptionsDecider,
} from '../../domain/webhooks/subscription.ts';
import type { EventCodec, LoggedEvent } from '../codec.ts';
import type { EventStore } from '../ports/event-store.ts';
import type { StreamStates } from '../stream-states.ts';
import { streamName } from '../streams.ts';

const MAX_TENANTS = 10_000;
const PAGE = 1000;
const TYPES: ReadonlySet<string> = new Set(subscriptionEvents.map(({ type }) => type));

/** The catalogue gives each of these types the shape that it has in the union. */
const asSubscriptionEvent = (event: LoggedEvent): SubscriptionEvent | undefined =>
  TYPES.has(event.type) ? (event as unknown as SubscriptionEvent) : undefined;

/**
 * The subscriptions of each tenant as they were at a place in the log, for a reader that goes through the log in order:
 * whether one was active when something happened must not depend on when it is looked at.
 */
export class SubscriptionHistory {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  /** As they were before the next event of the log. */
  readonly #known = new Map<string, Subscriptions>();

  constructor(deps: { events: EventStore; codec: EventCodec; states: StreamStates }) {
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#states = deps.states;
  }

  /** The reader begins anew, perhaps elsewhere in the log. */
  reset(): void {
    this.#known.clear();
  }

  /** True for an event of a subscription, which is taken in. */
  takes(event: LoggedEvent): boolean {
    const change = asSubscriptionEvent(event);
    if (change === undefined) return false;
    const known = this.#known.get(event.tenantId);
    if (known !== undefined) {
      this.#known.set(event.tenantId, subscriptionsDecider.evolve(known, change, event));
    }
    return true;
  }

  async at(event: LoggedEvent): Promise<Subscriptions> {
    const { tenantId } = event;
    const known = this.#known.get(tenantId) ?? (await this.#load(event));
    this.#known.set(tenantId, known);
    if (this.#known.size > MAX_TENANTS) {
      const oldest = this.#known.keys().next().value;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return known;
  }

  async #load({ tenantId, position }: LoggedEvent): Promise<Subscriptions> {
    const stream = streamName(tenantId, subscriptionsDecider.category, SUBSCRIPTIONS);
    const head = await this.#states.refresh(stream, subscriptionsDecider);
    // The stream's name says which decider folded it.
    if (head.position === undefined || head.position < position) return head.state as Subscriptions;
    let state = subscriptionsDecider.initial;
    for (let from = 0; ; from += PAGE) {
      const page = await this.#events.readStream(stream, { from, limit: PAGE });
      for (const stored of page) {
        if (stored.position >= position) return state;
        const event = this.#codec.decode(stored);
        const change = asSubscriptionEvent(event);
        if (change !== undefined) state = subscriptionsDecider.evolve(state, change, event);
      }
      if (page.length < PAGE) return state;
    }
  }
}
