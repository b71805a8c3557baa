import type { Decider } from '../domain/decider.ts';
import { CHAIN_START, type ChainHead, type EventCodec } from './codec.ts';
import type { EventStore, Position, StoredEvent } from './ports/event-store.ts';
import type { Logger } from './ports/logger.ts';
import type { SnapshotStore } from './ports/snapshot-store.ts';
import { streamName } from './streams.ts';

/** A decider with its types hidden: what the cache of folded states needs of it. */
// biome-ignore lint/suspicious/noExplicitAny: state and event types vary per stream; execute() pairs them again
export type AnyDecider = Decider<any, any>;

/** The folded state of a stream and the head it was folded to. */
export interface StreamState<State = unknown> extends ChainHead {
  readonly state: State;
  /** `occurred_at` of the last event, ms; 0 for none. */
  readonly at: number;
  readonly position: Position | undefined;
}

const MAX_CACHED_STREAMS = 20_000;
const PAGE = 1000;
/** A snapshot every so many events keeps a cold load to about one page of a hundred. */
const SNAPSHOT_EVERY = 100;

/** Folded states by stream, loaded from snapshot and tail, kept in memory until somebody else writes. */
export class StreamStates {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #snapshots: SnapshotStore;
  readonly #logger: Logger;
  readonly #cache = new Map<string, StreamState>();
  readonly #snapshotAt = new Map<string, number>();

  constructor(events: EventStore, codec: EventCodec, snapshots: SnapshotStore, logger: Logger) {
    this.#events = events;
    this.#codec = codec;
    this.#snapshots = snapshots;
    this.#logger = logger;
  }

  /** The state in memory, which may be behind another node's writes. */
  cached(stream: string): StreamState | undefined {
    return this.#cache.get(stream);
  }

  /** From memory when it is there, else from the store. */
  async load<S, E>(tenantId: string, decider: Decider<S, E>, id: string): Promise<StreamState<S>> {
    const stream = streamName(tenantId, decider.category, id);
    const cached = this.#cache.get(stream);
    return (cached ?? (await this.refresh(stream, decider))) as StreamState<S>;
  }

  /** Brings a state up to the store's present head. */
  async refresh(stream: string, decider: AnyDecider): Promise<StreamState> {
    const before = this.#cache.get(stream) ?? (await this.#fromSnapshot(stream, decider));
    let state = before;
    for (;;) {
      const page = await this.#events.readStream(stream, { from: state.revision + 1, limit: PAGE });
      for (const event of page) state = this.#fold(state, event, decider);
      if (page.length < PAGE) break;
    }
    this.set(stream, state, decider);
    return state;
  }

  set(stream: string, state: StreamState, decider: AnyDecider): void {
    this.#cache.delete(stream);
    this.#cache.set(stream, state);
    if (this.#cache.size > MAX_CACHED_STREAMS) {
      const oldest = this.#cache.keys().next().value;
      if (oldest !== undefined) this.drop(oldest);
    }
    if (state.revision - (this.#snapshotAt.get(stream) ?? -1) >= SNAPSHOT_EVERY) {
      this.#takeSnapshot(stream, state, decider);
    }
  }

  /** Forgets a state, for example because the outcome of an append is not known. */
  drop(stream: string): void {
    this.#cache.delete(stream);
    this.#snapshotAt.delete(stream);
  }

  /** Told of every event on the log: drops a state that another node has left behind. */
  noticed(stream: string, revision: number): void {
    const cached = this.#cache.get(stream);
    if (cached !== undefined && cached.revision < revision) this.drop(stream);
  }

  #fold(state: StreamState, stored: StoredEvent, decider: AnyDecider): StreamState {
    const event = this.#codec.decode(stored);
    return {
      state: decider.evolve(state.state, event, { at: event.at, revision: event.revision }),
      revision: event.revision,
      hash: event.hash,
      at: event.at,
      position: event.position,
    };
  }

  async #fromSnapshot(stream: string, decider: AnyDecider): Promise<StreamState> {
    const empty = { ...CHAIN_START, state: decider.initial, at: 0, position: undefined };
    const snapshot = await this.#snapshots.get(stream).catch((error: unknown) => {
      this.#logger.warn({ err: error, stream }, 'a snapshot could not be read; folding from the first event');
      return undefined;
    });
    if (snapshot === undefined || snapshot.stateVersion !== decider.stateVersion) return empty;
    const position = this.#events.parsePosition(snapshot.position);
    if (position === undefined) return empty;
    this.#snapshotAt.set(stream, snapshot.revision);
    return {
      state: JSON.parse(snapshot.state),
      revision: snapshot.revision,
      hash: snapshot.hash,
      at: snapshot.at,
      position,
    };
  }

  #takeSnapshot(stream: string, state: StreamState, decider: AnyDecider): void {
    if (state.position === undefined) return;
    this.#snapshotAt.set(stream, state.revision);
    const { revision, hash, at, position } = state;
    this.#snapshots
      .put(stream, {
        stateVersion: decider.stateVersion,
        revision,
        hash,
        at,
        position,
        state: JSON.stringify(state.state),
      })
      .catch((error: unknown) =>
        this.#logger.warn({ err: error, stream }, 'a snapshot could not be written'),
      );
  }
}
