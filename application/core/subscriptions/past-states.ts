import type { StreamType } from '../../../domain/core/stream-type.ts';
import type { Position } from '../../ports/event-store.ts';
import type { StreamStates } from '../commands/stream-states.ts';
import type { AnyEvent, LoggedEvent } from '../events/event-codec.ts';
import { evictOldest } from '../memory/evict-oldest.ts';

const MAX_STREAMS = 10_000;

/**
 * States of streams at a position of the log, for a subscriber that handles each tenant's events in order. The result
 * does not depend on the time of the read.
 */
export class PastStates<S, E extends AnyEvent> {
  readonly types: readonly string[];
  readonly #type: StreamType<S, E>;
  readonly #states: StreamStates;
  /** States before the next event that the subscriber handles. */
  readonly #cache = new Map<string, S>();

  /** @param types event types that change the state; the subscriber passes all their events to {@link evolve} */
  constructor(
    type: StreamType<S, E>,
    types: readonly string[],
    { states }: { readonly states: StreamStates },
  ) {
    this.#type = type;
    this.types = types;
    this.#states = states;
  }

  /** Drops all states. To be called before the subscriber continues at another place of the log. */
  reset(): void {
    this.#cache.clear();
  }

  /** Applies an event of one of the types to the cached state of its stream; returns false for other events. */
  evolve(event: LoggedEvent): boolean {
    if (!this.types.includes(event.type)) return false;
    const known = this.#cache.get(event.stream);
    if (known !== undefined) {
      // Events of these types are only in streams of this stream type.
      this.#cache.set(event.stream, this.#type.evolve(known, event as unknown as E, event));
    }
    return true;
  }

  /**
   * The state just before the event at `position`. Reads a stream once; {@link evolve} then keeps the state current.
   */
  before(stream: string, position: Position): S | Promise<S> {
    const known = this.#cache.get(stream);
    return known === undefined ? this.#load(stream, position) : known;
  }

  /** Like {@link before}, but always reads the log: for streams of another tenant, whose events have another order. */
  readBefore(stream: string, position: Position): Promise<S> {
    return this.#states.before(stream, this.#type, position);
  }

  /** The state before the next event that the subscriber handles; undefined when it is not cached. */
  cached(stream: string): S | undefined {
    return this.#cache.get(stream);
  }

  async #load(stream: string, position: Position): Promise<S> {
    const state = await this.readBefore(stream, position);
    this.#cache.set(stream, state);
    evictOldest(this.#cache, MAX_STREAMS);
    return state;
  }
}
