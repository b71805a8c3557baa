import { notFound } from '../../domain/core/errors.ts';
import {
  SUBSCRIPTIONS,
  type Subscription,
  type Subscriptions,
  subscriptionPaused,
  subscriptionsStream,
} from '../../domain/webhooks/subscription.ts';
import type { Streams } from '../core/commands/streams.ts';

/** Subscriptions as they are, from the folded stream. Nobody is refused because of what one node remembers. */
export class SubscriptionLookup {
  readonly #streams: Streams;
  /** States are never changed in place: what was found of one holds. */
  #looked: { readonly state: Subscriptions | undefined; readonly isClean: boolean } = {
    state: undefined,
    isClean: false,
  };

  constructor(streams: Streams) {
    this.#streams = streams;
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
    const cached = this.#streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS).cached();
    // The stream's name says which stream type folded it.
    return cached?.state as Subscriptions | undefined;
  }

  /** As {@link find}; undefined for what the store does not know. */
  async look(
    tenantId: string,
    id: string,
    isEnough: (known: Subscription) => boolean = () => true,
  ): Promise<Subscription | undefined> {
    const stream = this.#streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS);
    const { state } = await stream.load();
    const known = Object.hasOwn(state.byId, id) ? state.byId[id] : undefined;
    if (known !== undefined && isEnough(known)) return known;
    const { byId } = (await stream.refresh()).state;
    return Object.hasOwn(byId, id) ? byId[id] : undefined;
  }

  /** @throws `not_found`, `subscription_paused` */
  async active(tenantId: string, id: string): Promise<Subscription> {
    const found = await this.find(tenantId, id, ({ state }) => state === 'active');
    if (found.state === 'paused') throw subscriptionPaused();
    return found;
  }
}
