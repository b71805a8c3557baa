import { type Delivery, deliveryStream } from '../../domain/webhooks/delivery.ts';
import type { StreamState, StreamStates } from '../core/commands/stream-states.ts';
import type { EventCodec, LoggedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import { monotonic, setTimeout } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { EventStore, StoredEvent } from '../ports/event-store.ts';
import { isWhole, partsOf } from './body.ts';

/** A delivery as just read, with the events of its body that were read. */
export interface FoundDelivery {
  readonly head: StreamState<Delivery>;
  readonly body: readonly LoggedEvent[];
  /** As `monotonic()`. */
  readonly readAt: number;
}

type Look = Omit<FoundDelivery, 'readAt'>;

/** A gathered delivery; undefined when it was not gathered or is too old. */
export type Found = () => FoundDelivery | undefined;

/** How long (ms) gathered data is used. */
const FRESH_MS = 500;
/** Characters of events read ahead for one worker; the rest is read when it is sent. */
const AHEAD = 256 * 1024;
/** Limit of characters for all workers, since most of many may wait for long. */
const AHEAD_IN_ALL = 128 * AHEAD;
/** Workers that read ahead at the same time; each read may return one oversized delivery. */
const READING = 16;

/** Reads deliveries from their streams, one by one or several that are sent next. */
export class DeliveryReader extends WithDeps<{
  readonly states: StreamStates;
  readonly events: EventStore;
  readonly codec: EventCodec;
}> {
  /** Characters held now. */
  #ahead = 0;
  #reading = 0;

  /**
   * Reads deliveries without further events and with the body in one event, nearly all of them, in one query. Leaves
   * out others, and all when too much is held or being read. Clears the result when it is too old.
   */
  async gather(tenantId: string, ids: readonly string[]): Promise<Map<string, FoundDelivery>> {
    const found = new Map<string, FoundDelivery>();
    const wanted = ids.filter((id) => this.deps.states.cached(streamOf(tenantId, id)) === undefined);
    if (this.#reading >= READING || this.#ahead + AHEAD > AHEAD_IN_ALL) return found;
    this.#reading += 1;
    this.#ahead += AHEAD;
    let budget = AHEAD;
    try {
      if (wanted.length > 0) budget = await this.#gatherSome(tenantId, wanted, budget, found);
    } finally {
      this.#reading -= 1;
      this.#ahead -= budget;
      setTimeout(() => {
        found.clear();
        this.#ahead -= AHEAD - budget;
      }, FRESH_MS).unref();
    }
    return found;
  }

  /** @returns the remaining budget; 0 when it was exceeded */
  async #gatherSome(
    tenantId: string,
    ids: readonly string[],
    budget: number,
    found: Map<string, FoundDelivery>,
  ): Promise<number> {
    const readAt = monotonic();
    const read = await this.deps.events.readStreams(
      ids.map((id) => streamOf(tenantId, id)),
      2,
      budget,
    );
    let left = budget;
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

  /** An event that cannot be decoded fails later, in its own attempt. */
  #decoded(stored: StoredEvent): LoggedEvent | undefined {
    try {
      return this.deps.codec.decodeOnce(stored);
    } catch {
      return undefined;
    }
  }

  /**
   * Synchronous when the state is cached.
   * @param known its first event, or gathered data that is still valid
   */
  look(
    tenantId: string,
    id: string,
    known: { readonly made?: LoggedEvent | undefined; readonly found?: Found | undefined },
  ): Look | Promise<Look> {
    const { made } = known;
    const found = known.found?.();
    const stream = streamOf(tenantId, id);
    const cached = this.deps.states.cached(stream, deliveryStream);
    if (cached !== undefined)
      return { head: cached, body: made === undefined ? (found?.body ?? []) : [made] };
    if (found !== undefined && monotonic() - found.readAt < FRESH_MS) return found;
    return this.#read(stream);
  }

  async #read(stream: string): Promise<Look> {
    const body: LoggedEvent[] = [];
    const see = (event: LoggedEvent): void => void (event.revision === body.length && body.push(event));
    const head = await this.deps.states.refresh(stream, deliveryStream, see);
    return { head, body: body.slice(0, partsOf(body[0])) };
  }

  /** The events of its body; empty when it does not exist. */
  async bodyOf(tenantId: string, id: string): Promise<readonly LoggedEvent[]> {
    const stream = streamOf(tenantId, id);
    const read = async (from: number, limit: number) =>
      (await this.deps.events.readStream(stream, { from, limit })).map((stored) =>
        this.deps.codec.decode(stored),
      );
    const [first] = await read(0, 1);
    if (first === undefined) return [];
    const parts = partsOf(first);
    return parts === 1 ? [first] : [first, ...(await read(1, parts - 1))];
  }
}

const streamOf = (tenantId: string, id: string): string => streamName(tenantId, deliveryStream.category, id);

const headOf = (made: LoggedEvent): StreamState<Delivery> => {
  const { revision, hash, at, position } = made;
  // An event of a delivery's stream.
  const event = made as Parameters<typeof deliveryStream.evolve>[1];
  const state = deliveryStream.evolve(deliveryStream.initial, event, { at, revision });
  return { state, revision, hash, at, position };
};
