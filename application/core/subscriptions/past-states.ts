import type { StreamType } from '../../../domain/core/stream-type.ts';
import type { Position } from '../../ports/event-store.ts';
import type { StreamStates } from '../commands/stream-states.ts';
import type { AnyEvent, LoggedEvent } from '../events/event-codec.ts';
import { evictOldest } from '../memory/evict-oldest.ts';

const MAX_STREAMS = 10_000;

/**
 * States of streams at a position of the log, for a reader that goes through each tenant's events in order: the result
 * does not depend on when it reads.
 */
export class PastStates<S, E extends AnyEvent> {
  readonly types: readonly string[];
  readonly #type: StreamType<S, E>;
  readonly #states: StreamStates;
  /** States before the next event of the log. */
  readonly #cache = new Map<string, S>();

  /** @param types of events that change the state; the reader passes each of them to {@link evolve} */
  constructor(
    type: StreamType<S, E>,
    types: readonly string[],
    { states }: { readonly states: StreamStates },
  ) {
    this.#type = type;
    this.types = types;
    this.#states = states;
  }

  /** Drops all states: the reader starts elsewhere in the log. */
  reset(): void {
    this.#cache.clear();
  }

  /** Evolves the cached state by an event of one of the types; false for other events. */
  evolve(event: LoggedEvent): boolean {
    if (!this.types.includes(event.type)) return false;
    const known = this.#cache.get(event.stream);
    if (known !== undefined) {
      // The stream's name and the catalogue make it an event of the type.
      this.#cache.set(event.stream, this.#type.evolve(known, event as unknown as E, event));
    }
    return true;
  }

  /** The state just before the event at `position`: read from the log once, then kept up to date by {@link evolve}. */
  before(stream: string, position: Position): S | Promise<S> {
    const known = this.#cache.get(stream);
    return known === undefined ? this.#load(stream, position) : known;
  }

  /** As {@link before}, read from the log each time: for a stream that is not read in one order with `position`. */
  readBefore(stream: string, position: Position): Promise<S> {
    return this.#states.before(stream, this.#type, position);
  }

  /** The state before the next event of the log, when it is cached. */
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
