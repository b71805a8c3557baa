import { type Delivery, deliveryStream } from '../../domain/webhooks/delivery.ts';
import type { StreamState, StreamStates } from '../core/commands/stream-states.ts';
import type { EventCodec, LoggedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import type { EventStore, StoredEvent } from '../ports/event-store.ts';
import { isWhole, partsOf } from './body.ts';

/** A delivery as it was a moment ago, and what has come to light of the events that hold its body. */
export interface FoundDelivery {
  readonly head: StreamState<Delivery>;
  readonly body: readonly LoggedEvent[];
  /** As `performance.now()`. */
  readonly readAt: number;
}

type Look = Omit<FoundDelivery, 'readAt'>;

/** What was gathered of a delivery; undefined when that was nothing, and when it holds no more. */
export type Found = () => FoundDelivery | undefined;

/** What was read before is used for so long: a node that was frozen meanwhile looks anew. */
const FRESH_MS = 500;
/** Characters of events that are read ahead for one lane; what comes after them is read when its turn comes. */
const AHEAD = 256 * 1024;
/** And of all that wait to be sent. There are as many lanes as subscriptions, and most of them may wait for long. */
const AHEAD_IN_ALL = 128 * AHEAD;
/** Lanes that read ahead at a time: one that is too long comes with each question, though it is not kept. */
const READING = 16;

/** Reads deliveries from their streams: each by itself, or those that are about to be sent together. */
export class DeliveryReader {
  readonly #states: StreamStates;
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  /** Characters that are kept at the moment. */
  #ahead = 0;
  #reading = 0;

  constructor(deps: {
    readonly states: StreamStates;
    readonly events: EventStore;
    readonly codec: EventCodec;
  }) {
    this.#states = deps.states;
    this.#events = deps.events;
    this.#codec = deps.codec;
  }

  /**
   * Those that nothing has happened to since they were made and whose body is in one event, which are nearly all: in one
   * question, which is far less work. The others are left out, and all where too much is kept or read already. What
   * was found is forgotten when it is too old to be used.
   */
  async gather(tenantId: string, ids: readonly string[]): Promise<Map<string, FoundDelivery>> {
    const found = new Map<string, FoundDelivery>();
    const wanted = ids.filter((id) => this.#states.cached(streamOf(tenantId, id)) === undefined);
    if (this.#reading >= READING || this.#ahead + AHEAD > AHEAD_IN_ALL) return found;
    this.#reading += 1;
    this.#ahead += AHEAD;
    let room = AHEAD;
    try {
      if (wanted.length > 0) room = await this.#gatherSome(tenantId, wanted, room, found);
    } finally {
      this.#reading -= 1;
      this.#ahead -= room;
      setTimeout(() => {
        found.clear();
        this.#ahead -= AHEAD - room;
      }, FRESH_MS).unref();
    }
    return found;
  }

  /** @returns the room that is left; none when there was too much for it */
  async #gatherSome(
    tenantId: string,
    ids: readonly string[],
    room: number,
    found: Map<string, FoundDelivery>,
  ): Promise<number> {
    const readAt = performance.now();
    const read = await this.#events.readStreams(
      ids.map((id) => streamOf(tenantId, id)),
      2,
      room,
    );
    let left = room;
    for (const [nth, id] of ids.entries()) {
      const events = read[nth] ?? [];
      for (const { data, metadata } of events) left -= data.length + metadata.length;
      if (left < 0) return 0;
      const [first] = events;
      const made = first === undefined || events.length > 1 ? undefined : this.#decoded(first);
      if (made !== undefined && isWhole([made])) found.set(id, { head: headOf(made), body: [made], readAt });
    }
    return left;
  }

  /** What cannot be read is told when its own turn comes, and holds up no other. */
  #decoded(stored: StoredEvent): LoggedEvent | undefined {
    try {
      return this.#codec.decodeOnce(stored);
    } catch {
      return undefined;
    }
  }

  /**
   * At once where it is in memory.
   * @param known its first event, or what was gathered if that still holds, for who has it at hand
   */
  look(
    tenantId: string,
    id: string,
    known: { readonly made?: LoggedEvent | undefined; readonly found?: Found | undefined },
  ): Look | Promise<Look> {
    const { made } = known;
    const found = known.found?.();
    const stream = streamOf(tenantId, id);
    // The stream's name says which stream type folded it.
    const cached = this.#states.cached(stream) as StreamState<Delivery> | undefined;
    if (cached !== undefined)
      return { head: cached, body: made === undefined ? (found?.body ?? []) : [made] };
    if (found !== undefined && performance.now() - found.readAt < FRESH_MS) return found;
    return this.#read(stream);
  }

  async #read(stream: string): Promise<Look> {
    const body: LoggedEvent[] = [];
    const see = (event: LoggedEvent): void => void (event.revision === body.length && body.push(event));
    const head = (await this.#states.refresh(stream, deliveryStream, see)) as StreamState<Delivery>;
    return { head, body: body.slice(0, partsOf(body[0])) };
  }

  /** The events that hold its body; none when it does not exist. */
  async bodyOf(tenantId: string, id: string): Promise<readonly LoggedEvent[]> {
    const stream = streamOf(tenantId, id);
    const read = async (from: number, limit: number) =>
      (await this.#events.readStream(stream, { from, limit })).map((stored) => this.#codec.decode(stored));
    const [first] = await read(0, 1);
    if (first === undefined) return [];
    const parts = partsOf(first);
    return parts === 1 ? [first] : [first, ...(await read(1, parts - 1))];
  }
}

const streamOf = (tenantId: string, id: string): string => streamName(tenantId, deliveryStream.category, id);

const headOf = (made: LoggedEvent): StreamState<Delivery> => {
  const { revision, hash, at, position } = made;
  // An event of this stream, so one of a delivery.
  const event = made as Parameters<typeof deliveryStream.evolve>[1];
  const state = deliveryStream.evolve(deliveryStream.initial, event, { at, revision });
  return { state, revision, hash, at, position };
};
