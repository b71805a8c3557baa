import { notFound } from '../../domain/errors.ts';
import {
  SUBSCRIPTIONS,
  type Subscription,
  type Subscriptions,
  subscriptionsDecider,
} from '../../domain/webhooks/subscription.ts';
import { subscriptionPaused } from '../../domain/webhooks/subscription-decisions.ts';
import type { StreamStates } from '../stream-states.ts';
import { streamName } from '../streams.ts';

/** Subscriptions as they are, from the folded stream. Nobody is refused because of what one node remembers. */
export class SubscriptionLookup {
  readonly #states: StreamStates;
  /** States are never changed in place: what was found of one holds. */
  #looked: { readonly state: Subscriptions | undefined; readonly isClean: boolean } = {
    state: undefined,
    isClean: false,
  };

  constructor(states: StreamStates) {
    this.#states = states;
  }

  /** @param isEnough else, and before anybody is refused, the store is asked @throws `not_found` */
  async find(
    tenantId: string,
    id: string,
    isEnough: (known: Subscription) => boolean = () => true,
  ): Promise<Subscription> {
    const found = await this.look(tenantId, id, isEnough);
    if (found === undefined) throw notFound();
    return found;
  }

  /** What this node remembers, at once: undefined when that is nothing, and when it does not know of it. */
  known(tenantId: string, id: string): Subscription | undefined {
    const byId = this.#cached(tenantId)?.byId;
    return byId !== undefined && Object.hasOwn(byId, id) ? byId[id] : undefined;
  }

  /** So far as this node remembers; false when that is nothing. */
  haveNoDeadLetters(tenantId: string): boolean {
    const cached = this.#cached(tenantId);
    if (cached === undefined) return false;
    if (cached !== this.#looked.state) {
      const isClean = Object.values(cached.byId).every(({ deadLetters }) => deadLetters.length === 0);
      this.#looked = { state: cached, isClean };
    }
    return this.#looked.isClean;
  }

  #cached(tenantId: string): Subscriptions | undefined {
    const cached = this.#states.cached(streamName(tenantId, subscriptionsDecider.category, SUBSCRIPTIONS));
    // The stream's name says which decider folded it.
    return cached?.state as Subscriptions | undefined;
  }

  /** As {@link find}; undefined for what the store does not know. */
  async look(
    tenantId: string,
    id: string,
    isEnough: (known: Subscription) => boolean = () => true,
  ): Promise<Subscription | undefined> {
    const { state } = await this.#states.load(tenantId, subscriptionsDecider, SUBSCRIPTIONS);
    const known = Object.hasOwn(state.byId, id) ? state.byId[id] : undefined;
    if (known !== undefined && isEnough(known)) return known;
    const stream = streamName(tenantId, subscriptionsDecider.category, SUBSCRIPTIONS);
    // The stream's name says which decider folded it.
    const { byId } = (await this.#states.refresh(stream, subscriptionsDecider)).state as Subscriptions;
    return Object.hasOwn(byId, id) ? byId[id] : undefined;
  }

  /** @throws `not_found`, `subscription_paused` */
  async active(tenantId: string, id: string): Promise<Subscription> {
    const found = await this.find(tenantId, id, ({ state }) => state === 'active');
    if (found.state === 'paused') throw subscriptionPaused();
    return found;
  }
}
