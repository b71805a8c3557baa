import { notFound } from '../../domain/core/errors.ts';
import {
  SUBSCRIPTIONS,
  type Subscription,
  type Subscriptions,
  subscriptionPaused,
  subscriptionsStream,
} from '../../domain/webhooks/subscription.ts';
import type { Streams } from '../core/commands/streams.ts';

/** Looks up subscriptions in the folded stream; reads the store before it reports one as unknown. */
export class SubscriptionLookup {
  readonly #streams: Streams;
  /** The last answer, valid for this very state object. */
  #looked: { readonly state: Subscriptions | undefined; readonly isClean: boolean } = {
    state: undefined,
    isClean: false,
  };

  constructor(streams: Streams) {
    this.#streams = streams;
  }

  /** @param isEnough false reads the store as well @throws `not_found` */
  async find(
    tenantId: string,
    id: string,
    isEnough: (known: Subscription) => boolean = () => true,
  ): Promise<Subscription> {
    const found = await this.look(tenantId, id, isEnough);
    if (found === undefined) throw notFound();
    return found;
  }

  /** The subscription in the cached state, if any. */
  known(tenantId: string, id: string): Subscription | undefined {
    const cached = this.#cached(tenantId);
    return cached && subscriptionIn(cached, id);
  }

  /** Whether no subscription in the cached state has dead letters; false without a cached state. */
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
    return this.#streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS).cached()?.state;
  }

  /** As {@link find}; undefined for an unknown subscription. */
  async look(
    tenantId: string,
    id: string,
    isEnough: (known: Subscription) => boolean = () => true,
  ): Promise<Subscription | undefined> {
    const stream = this.#streams.of(subscriptionsStream, tenantId, SUBSCRIPTIONS);
    const state = await stream.loadWhere((present) => {
      const known = subscriptionIn(present, id);
      return known !== undefined && isEnough(known);
    });
    return subscriptionIn(state, id);
  }

  /** @throws `not_found`, `subscription_paused` */
  async active(tenantId: string, id: string): Promise<Subscription> {
    const found = await this.find(tenantId, id, ({ state }) => state === 'active');
    if (found.state === 'paused') throw subscriptionPaused();
    return found;
  }
}

const subscriptionIn = ({ byId }: Subscriptions, id: string): Subscription | undefined =>
  Object.hasOwn(byId, id) ? byId[id] : undefined;
