import type { StreamType } from '../../../domain/core/stream-type.ts';
import type { EventStore, Position } from '../../ports/event-store.ts';
import type { StreamStates } from '../commands/stream-states.ts';
import { timeSlices } from '../concurrency/time-slices.ts';
import type { AnyEvent, EventCodec, LoggedEvent } from '../events/event-codec.ts';
import { ownerOf } from '../events/stream-name.ts';

const MAX_STREAMS = 10_000;
const PAGE = 1000;
/** Events folded between two looks at the time. */
const STEP = 32;

/**
 * States of streams at a position of the log, for a reader that goes through each tenant's events in order: the result
 * does not depend on when it reads.
 */
export class StateHistory<S, E extends AnyEvent> {
  readonly types: readonly string[];
  readonly #type: StreamType<S, E>;
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  /** States before the next event of the log. */
  readonly #known = new Map<string, S>();

  /** @param types of events that change the state; the reader passes each of them to {@link takes} */
  constructor(
    type: StreamType<S, E>,
    types: readonly string[],
    deps: { events: EventStore; codec: EventCodec; states: StreamStates },
  ) {
    this.#type = type;
    this.types = types;
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#states = deps.states;
  }

  /** Drops all states: the reader starts elsewhere in the log. */
  reset(): void {
    this.#known.clear();
  }

  /** Applies an event of one of the types; false for other events. */
  takes(event: LoggedEvent): boolean {
    if (!this.types.includes(event.type)) return false;
    const known = this.#known.get(event.stream);
    if (known !== undefined) this.#known.set(event.stream, this.#evolved(known, event));
    return true;
  }

  /** The state just before the event at `position`. */
  at(stream: string, position: Position): S | Promise<S> {
    const known = this.#known.get(stream);
    return known === undefined ? this.#remembered(stream, position) : known;
  }

  /** As {@link at}, for a stream that other tenants' events depend on: those are not read in one order with it. */
  exact(stream: string, position: Position): Promise<S> {
    return this.#load(stream, position);
  }

  /** As {@link at} for the next event of the log, when the state is already known. */
  known(stream: string): S | undefined {
    return this.#known.get(stream);
  }

  async #remembered(stream: string, position: Position): Promise<S> {
    const state = await this.#load(stream, position);
    this.#known.set(stream, state);
    if (this.#known.size > MAX_STREAMS) {
      const oldest = this.#known.keys().next().value;
      if (oldest !== undefined) this.#known.delete(oldest);
    }
    return state;
  }

  async #load(stream: string, position: Position): Promise<S> {
    const current = await this.#states.refresh(stream, this.#type);
    // The stream's name contains the category of its type.
    if (current.position === undefined || current.position < position) return current.state as S;
    const slice = timeSlices.of(ownerOf(stream), 'fold');
    let state = this.#type.initial;
    for (let from = 0; ; from += PAGE) {
      const page = await this.#events.readStream(stream, { from, limit: PAGE });
      for (const [nth, stored] of page.entries()) {
        if (stored.position >= position) return state;
        const wait = nth % STEP === STEP - 1 ? slice.pause() : undefined;
        if (wait !== undefined) await wait;
        state = this.#evolved(state, this.#codec.decode(stored));
      }
      if (page.length < PAGE) return state;
    }
  }

  #evolved(state: S, event: LoggedEvent): S {
    // The stream's name and the catalogue make it an event of the type.
    return this.#type.evolve(state, event as unknown as E, event);
  }
}
