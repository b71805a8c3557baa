import type { AppendGate } from './append-gate.ts';
import type { Cause, EventCodec, RecordedEvent } from './codec.ts';
import type { Again, Waiting } from './command.ts';
import type { Clock, Ids } from './ports/clock.ts';
import {
  type EventStore,
  EventTooLarge,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  StoreUnavailable,
} from './ports/event-store.ts';
import type { WrappedKey } from './ports/key-store.ts';
import type { Metrics } from './ports/metrics.ts';
import type { KeyRing } from './sealing.ts';
import type { AnyDecider, StreamState, StreamStates } from './stream-states.ts';

type Settle = (position: Position | undefined) => void;

/** One append holds at most this much, well under what the stores take. */
const MAX_APPEND_BYTES = MAX_EVENT_BYTES + 256 * 1024;

export interface DecidingDeps {
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly states: StreamStates;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly metrics: Metrics;
}

/** Decides the commands of one stream in their order, makes events of what they decide, and appends these together. */
export class Deciding {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  readonly #keys: KeyRing;
  readonly #gate: AppendGate;
  readonly #clock: Clock;
  readonly #ids: Ids;
  readonly #metrics: Metrics;

  constructor(deps: DecidingDeps, gate: AppendGate) {
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#states = deps.states;
    this.#keys = deps.keys;
    this.#gate = gate;
    this.#clock = deps.clock;
    this.#ids = deps.ids;
    this.#metrics = deps.metrics;
  }

  /**
   * Decides as many commands as fit into one append, appends, then answers them.
   * @returns how many were answered; 0 when the state must be confirmed first: what writes nothing is not answered
   * from a state that another node may have left behind
   */
  async append(
    stream: string,
    batch: readonly Waiting[],
    loaded: StreamState,
    fresh: boolean,
  ): Promise<number> {
    const unsaved: WrappedKey[] = [];
    try {
      return await this.#appendWith(unsaved, stream, batch, loaded, fresh);
    } finally {
      // A key that is not on disk must not be found in memory by a later command.
      for (const key of unsaved) this.#keys.forget(key.id);
    }
  }

  /** @param unsaved takes the keys that are made; emptied when they are on disk */
  async #appendWith(
    unsaved: WrappedKey[],
    stream: string,
    batch: readonly Waiting[],
    loaded: StreamState,
    fresh: boolean,
  ): Promise<number> {
    let head = loaded;
    let bytes = 0;
    const settles: Settle[] = [];
    const appended: NewEvent[] = [];
    const decider: AnyDecider | undefined = batch[0]?.command.decider;
    for (const waiting of batch) {
      const { command } = waiting;
      if ((command.prepare !== undefined || command.again !== undefined) && appended.length > 0) break;
      const step = await this.#decide(stream, waiting, head, unsaved);
      const stays = step.head === head;
      if (stays && !fresh && appended.length === 0 && settles.length === 0) return 0;
      if (stays && !fresh) break;
      if (bytes + step.bytes > MAX_APPEND_BYTES && appended.length > 0) break;
      bytes += step.bytes;
      head = step.head;
      appended.push(...step.events);
      settles.push(step.settle);
    }
    let position = loaded.position;
    if (appended.length > 0) {
      const started = performance.now();
      const expected = loaded.revision < 0 ? 'no_stream' : loaded.revision;
      const result = await this.#gate.append(stream, expected, appended, unsaved);
      this.#metrics.eventsAppended(appended.length, (performance.now() - started) / 1000);
      position = result.position;
      if (decider !== undefined) this.#states.set(stream, { ...head, position }, decider);
    }
    for (const settle of settles) settle(position);
    return settles.length;
  }

  async #decide(
    stream: string,
    waiting: Waiting,
    head: StreamState,
    newKeys: WrappedKey[],
  ): Promise<{ head: StreamState; events: NewEvent[]; bytes: number; settle: Settle }> {
    const { command, resolve, reject } = waiting;
    const nothing = { head, events: [], bytes: 0 };
    try {
      if (command.again !== undefined) {
        const earlier = await this.#appendedBefore(stream, head, command.cause, command.again);
        if (earlier.length > 0) {
          const settle: Settle = (position) => resolve({ events: earlier, state: head.state, position });
          return { ...nothing, settle };
        }
      }
      const facts = command.prepare === undefined ? undefined : await command.prepare(head);
      const now = Math.max(this.#clock.now(), head.at);
      const decided = command.decide(head.state, { now }, facts);
      if (decided.length === 0) {
        return { ...nothing, settle: (position) => resolve({ events: [], state: head.state, position }) };
      }
      let next = head;
      let bytes = 0;
      const events: NewEvent[] = [];
      const recorded: RecordedEvent[] = [];
      for (const event of decided) {
        const loading = this.#haveKeys(command.tenantId, event, newKeys);
        if (loading !== undefined) await loading;
        const at = Math.max(event.at ?? now, next.at);
        const id = this.#ids.next();
        const encoded = this.#codec.encode(
          stream,
          command.tenantId,
          next,
          { ...event, id, at },
          command.cause,
        );
        const size = Buffer.byteLength(encoded.stored.data) + Buffer.byteLength(encoded.stored.metadata);
        if (size > MAX_EVENT_BYTES) throw new EventTooLarge(`an event of ${size} bytes`);
        bytes += size;
        events.push(encoded.stored);
        recorded.push(encoded.recorded);
        next = {
          state: command.decider.evolve(next.state, encoded.recorded, { at, revision: next.revision + 1 }),
          revision: next.revision + 1,
          hash: encoded.recorded.hash,
          at,
          position: next.position,
        };
      }
      const { state } = next;
      return {
        head: next,
        events,
        bytes,
        settle: (position) => {
          if (command.cause.trail !== undefined) command.cause.trail.appended = true;
          resolve({ events: recorded, state, position });
        },
      };
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return { ...nothing, settle: () => reject(error) };
    }
  }

  /** Keys that exist are loaded, others are made; `newKeys` collects what must be durable before the append. */
  #haveKeys(
    tenantId: string,
    event: { type: string; data: unknown },
    newKeys: WrappedKey[],
  ): Promise<void> | undefined {
    const ids = this.#codec.keyIds(tenantId, event).filter((id) => !this.#keys.has(id));
    if (ids.length === 0) return undefined;
    return this.#keys.load(ids).then(() => {
      for (const id of new Set(ids)) {
        if (!this.#keys.has(id)) newKeys.push(this.#keys.create(id));
      }
    });
  }

  /** The actor counts too: a request without a key names its causation itself, and must not pass for another's. */
  async #appendedBefore(
    stream: string,
    head: StreamState,
    cause: Cause,
    bound: Again,
  ): Promise<RecordedEvent[]> {
    // At the revision that is decided on nothing is as young as that; a younger revision is decided on anew.
    if ('after' in bound ? (head.position ?? '') <= bound.after : head.at < bound.since) return [];
    const found: RecordedEvent[] = [];
    let from: number | undefined;
    // Mostly there is next to nothing to look through; where there is much, pages grow.
    for (let limit = 8; ; limit = Math.min(limit * 4, 512)) {
      const page = await this.#events.readStream(stream, { direction: 'backward', from, limit });
      for (const stored of page) {
        const event = this.#codec.decode(stored);
        if (isOf(cause, event)) found.unshift(event);
        else if (found.length > 0) return found;
        if ('after' in bound ? event.position <= bound.after : event.at < bound.since) return found;
      }
      const last = page.at(-1);
      if (last === undefined || last.revision === 0) return found;
      from = last.revision - 1;
    }
  }
}

const isOf = ({ causationId, actor }: Cause, event: RecordedEvent): boolean =>
  event.causationId === causationId && event.actor.id === actor.id && event.actor.kind === actor.kind;
