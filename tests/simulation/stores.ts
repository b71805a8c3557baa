import { Readable } from 'node:stream';
import { z } from 'zod';
import type { EventStore, GrowthListener } from '../../application/ports/event-store.ts';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import type { Stores } from '../../infrastructure/stores.ts';
import type { Dice } from './dice.ts';
import type { Faults } from './faults.ts';
import type { Fences } from './fences.ts';
import type { HalfBatches } from './half-batches.ts';
import type { SimulatedNode } from './node.ts';
import type { VirtualTime } from './virtual-time.ts';

/** How a node reaches the shared stores: late, and with the faults that the dice give. */
export interface StoreRoute {
  readonly time: VirtualTime;
  readonly dice: Dice;
  readonly faults: Faults;
  readonly trace: (text: string) => void;
  readonly fences: Fences;
  readonly halves: HalfBatches;
}

type Caller = Pick<SimulatedNode, 'name' | 'isAlive' | 'diesAt' | 'owner' | 'kill'>;

/** Share of calls whose answer takes time of its own. */
const LATE_ANSWERS = 0.3;

/** Methods that answer at once and reach no server. */
const LOCAL = new Set(['parsePosition', 'close', 'onGrowth', 'wake']);

const isCallable = (value: unknown): value is (...args: unknown[]) => unknown => typeof value === 'function';

const isIterable = (value: unknown): value is AsyncIterable<unknown> =>
  typeof value === 'object' && value !== null && Symbol.asyncIterator in value;

/** Calls of one store by one node. */
class Calls {
  readonly #store: string;
  readonly #route: StoreRoute;
  readonly #node: Caller;
  /** Calls that were given up and may still land. */
  readonly #landing = new Set<Promise<void>>();

  constructor(store: string, route: StoreRoute, node: Caller) {
    this.#store = store;
    this.#route = route;
    this.#node = node;
  }

  async run(
    method: string,
    args: readonly unknown[],
    work: (args: readonly unknown[]) => unknown,
  ): Promise<unknown> {
    const { time, dice, faults, trace } = this.#route;
    const store = this.#store;
    if (this.#landing.size > 0 && (method === 'readStream' || method === 'readStreams')) {
      await Promise.all(this.#landing);
    }
    const fault = faults.ofCall(store, method, dice);
    if (fault !== 'none') trace(`${this.#node.name}: ${store}.${method} ${fault}`);
    await time.pause(fault === 'slow' ? dice.number() * 4_000 : dice.delay(1, 60));
    if (faults.isAway(store, method, time.now)) {
      for (const given of args) if (given instanceof Readable) given.destroy();
      throw new StoreUnavailable(`${store} is away`);
    }
    if (fault === 'lost') throw new StoreUnavailable(`${store} does not answer`);
    if (fault === 'lands later') {
      const landed = Promise.withResolvers<void>();
      this.#landing.add(landed.promise);
      // The server carries out the call whether this node still lives or not.
      time.after(
        dice.number() * 3_000,
        () =>
          void time
            .atOnce(async () => this.#landed(method, args, await work(args)))
            .then(
              () => landed.resolve(),
              () => landed.resolve(),
            ),
        undefined,
      );
      landed.promise.then(() => this.#landing.delete(landed.promise));
      throw new StoreUnavailable(`${store} does not answer in time`);
    }
    if (this.#node.diesAt === 'call' && dice.chance(0.3)) this.#node.kill();
    if (!this.#node.isAlive) return new Promise(() => undefined);
    // The call takes effect at once; the node gets the result or the error below.
    const outcome = await time.atOnce(async () => {
      try {
        const given = fault === 'half' ? halved(args, dice) : args;
        const value = this.#landed(method, given, await work(given));
        if (fault === 'half') this.#route.halves.broke(args[0]);
        return { value };
      } catch (error) {
        return { error };
      }
    });
    if (this.#node.diesAt === 'answer' && dice.chance(0.3)) this.#node.kill();
    if (!this.#node.isAlive) return new Promise(() => undefined);
    // Most answers are there at once: each step of a run costs time.
    if (fault !== 'none' || dice.chance(LATE_ANSWERS)) await time.pause(dice.delay(1, 60));
    if (fault === 'answer lost' || fault === 'half') throw new StoreUnavailable(`${store} did not answer`);
    if ('error' in outcome) throw outcome.error;
    return outcome.value;
  }

  #landed(method: string, args: readonly unknown[], result: unknown): unknown {
    if (this.#store === 'reads') {
      this.#route.fences.landed(this.#node.name, method, args, result);
      this.#route.halves.landed(method, args, result);
    }
    return result;
  }
}

const batch = z.looseObject({ writes: z.array(z.unknown()) });

/** A commit that breaks in a store without transactions: writes only the first documents, and no checkpoint. */
const halved = ([given]: readonly unknown[], dice: Dice): readonly unknown[] => {
  const { writes, checkpoint: _, ...rest } = batch.parse(given);
  return [{ ...rest, writes: writes.slice(0, dice.between(0, writes.length)) }];
};

/** The store as the node reaches it. */
const reached = <T extends object>(name: string, store: T, route: StoreRoute, node: Caller): T => {
  const calls = new Calls(name, route, node);
  const made = new Map<string, unknown>();
  return new Proxy(store, {
    get: (target, property) => {
      if (typeof property !== 'string') return Reflect.get(target, property, target);
      if (!made.has(property)) made.set(property, methodOf(target, property, calls));
      return made.get(property);
    },
  });
};

/** A method of a store as a node calls it. */
const methodOf = (target: object, property: string, calls: Calls): unknown => {
  const value: unknown = Reflect.get(target, property, target);
  if (!isCallable(value)) return value;
  if (property === 'close') return async () => undefined;
  if (LOCAL.has(property)) return value.bind(target);
  return (...args: unknown[]) => {
    if (property === 'list') {
      const listed = value.apply(target, args);
      if (isIterable(listed)) return listed;
      return calls.run(property, args, () => listed);
    }
    return calls.run(property, args, (given) => value.apply(target, [...given]));
  };
};

/**
 * The event store as the node reaches it. Growth reaches a node later, sometimes without its events or twice, and never
 * while the node is dead.
 */
export const eventsOf = (store: EventStore, route: StoreRoute, node: Caller): EventStore => {
  const via = reached('events', store, route, node);
  const onGrowth = (listener: GrowthListener): (() => void) => {
    let isOpen = true;
    let last = 0;
    const stop = store.onGrowth((growth) => {
      const { time, dice, faults } = route;
      const bare = faults.dropsGrowth(dice);
      // Growth arrives in order, as one subscription delivers it.
      last = Math.max(last, time.now + dice.delay(3, faults.areOn ? 1_500 : 5) + faults.stallOfGrowth(dice));
      const announce = (): void => {
        if (isOpen) listener(bare ? undefined : growth);
      };
      time.after(last - time.now, announce, node.owner);
      if (faults.repeatsGrowth(dice))
        time.after(last - time.now + dice.number() * 2_000, announce, node.owner);
    });
    return () => {
      isOpen = false;
      stop();
    };
  };
  return new Proxy(via, {
    get: (target, property) => (property === 'onGrowth' ? onGrowth : Reflect.get(target, property, target)),
  });
};

/** The shared stores as one node reaches them. */
export const storesOf = (shared: Stores, route: StoreRoute, node: Caller): Stores => ({
  events: eventsOf(shared.events, route, node),
  reads: reached('reads', shared.reads, route, node),
  keys: reached('keys', shared.keys, route, node),
  snapshots: reached('snapshots', shared.snapshots, route, node),
  answers: reached('answers', shared.answers, route, node),
  blobs: reached('blobs', shared.blobs, route, node),
  corpus: reached('corpus', shared.corpus, route, node),
  heads: reached('heads', shared.heads, route, node),
  close: async () => undefined,
});
