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
export class StateHistory<S, E extends AnyEvent> {
  readonly types: readonly string[];
  readonly #type: StreamType<S, E>;
  readonly #states: StreamStates;
  /** States before the next event of the log. */
  readonly #known = new Map<string, S>();

  /** @param types of events that change the state; the reader passes each of them to {@link takes} */
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
    this.#known.clear();
  }

  /** Applies an event of one of the types; false for other events. */
  takes(event: LoggedEvent): boolean {
    if (!this.types.includes(event.type)) return false;
    const known = this.#known.get(event.stream);
    if (known !== undefined) {
      // The stream's name and the catalogue make it an event of the type.
      this.#known.set(event.stream, this.#type.evolve(known, event as unknown as E, event));
    }
    return true;
  }

  /** The state just before the event at `position`. */
  at(stream: string, position: Position): S | Promise<S> {
    const known = this.#known.get(stream);
    return known === undefined ? this.#remembered(stream, position) : known;
  }

  /** As {@link at}, for a stream that other tenants' events depend on: those are not read in one order with it. */
  exact(stream: string, position: Position): Promise<S> {
    return this.#states.before(stream, this.#type, position);
  }

  /** As {@link at} for the next event of the log, when the state is already known. */
  known(stream: string): S | undefined {
    return this.#known.get(stream);
  }

  async #remembered(stream: string, position: Position): Promise<S> {
    const state = await this.exact(stream, position);
    this.#known.set(stream, state);
    evictOldest(this.#known, MAX_STREAMS);
    return state;
  }
}
