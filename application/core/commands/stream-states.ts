import type { StreamType } from '../../../domain/core/stream-type.ts';
import type { EventStore, Position, StoredEvent } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import { MEMORY } from '../../ports/memory.ts';
import type { SnapshotStore } from '../../ports/snapshot-store.ts';
import { timeSlices } from '../concurrency/time-slices.ts';
import { CHAIN_START, type ChainLink, type EventCodec, type LoggedEvent } from '../events/event-codec.ts';
import { ownerOf, streamName } from '../events/stream-name.ts';
import { BoundedCache } from '../memory/bounded-cache.ts';
import { nextTick } from '../runtime/timers.ts';
import { RevisionWatches } from './revision-watches.ts';

/** A stream type without its state and event types, as the cache of folded states uses it. */
// biome-ignore lint/suspicious/noExplicitAny: state and event types vary per stream; execute() pairs them again
export type AnyStreamType = StreamType<any, any>;

/** The folded state of a stream and the last revision in it. */
export interface StreamState<State = unknown> extends ChainLink {
  readonly state: State;
  /** `occurred_at` of the last event (ms); 0 for none. */
  readonly at: number;
  readonly position: Position | undefined;
}

const PAGE = 1000;
/** Fewest events between two snapshots of a stream. So an uncached load usually folds at most about this many. */
const SNAPSHOT_EVERY = 100;
/** A new snapshot needs one event per this many characters of the last snapshot: large states are rarely written. */
const SNAPSHOT_CHARS = 512;
/** Events of the first read of a stream. A stream with fewer events has no snapshot. */
const SHORT = 16;
/** Streams read and folded per tick of the event loop. */
const SLICE = 32;
/** Events of one stream folded between two checks of the time. */
const STEP = 32;

type See = (event: LoggedEvent) => void;

/** The state of a stream without events. */
export const emptyOf = (type: AnyStreamType): StreamState => ({
  ...CHAIN_START,
  state: type.initial,
  at: 0,
  position: undefined,
});

/** Folded states by stream, loaded from a snapshot and the events after it, and cached until evicted or outdated. */
export class StreamStates {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #snapshots: SnapshotStore;
  readonly #logger: Logger;
  readonly #cache = new BoundedCache<StreamState>(MEMORY.states, (stream) =>
    this.#snapshotDue.delete(stream),
  );
  /** The revision from which a stream needs a new snapshot. */
  readonly #snapshotDue = new Map<string, number>();
  readonly #loads = new RevisionWatches();
  /** This process's appends in progress: the live feed may deliver events of an append before the append returns. */
  readonly #appends = new RevisionWatches();
  #isCurrent: () => boolean = () => true;

  constructor(events: EventStore, codec: EventCodec, snapshots: SnapshotStore, logger: Logger) {
    this.#events = events;
    this.#codec = codec;
    this.#snapshots = snapshots;
    this.#logger = logger;
  }

  /** Bounds the age of cached states: while `isCurrent` returns false, every state is read from the store. */
  trustWhile(isCurrent: () => boolean): void {
    this.#isCurrent = isCurrent;
  }

  /**
   * The cached state. It may be behind another node's writes, as far as {@link trustWhile} allows.
   * @param _type the stream's type, which determines `S`
   */
  cached<S = unknown, E = never>(stream: string, _type?: StreamType<S, E>): StreamState<S> | undefined;
  cached(stream: string): StreamState | undefined {
    const state = this.#isCurrent() ? this.#cache.get(stream) : undefined;
    return state !== undefined && state.revision < this.#appends.newest(stream) ? undefined : state;
  }

  /** Returns the cached state, else reads it from the store. */
  async load<S, E>(tenantId: string, type: StreamType<S, E>, id: string): Promise<StreamState<S>> {
    const stream = streamName(tenantId, type.category, id);
    return this.cached(stream, type) ?? (await this.refresh(stream, type));
  }

  /**
   * Reads a state up to the last revision in the store.
   * @param see called with each event after the cached state or the snapshot; if there is neither, with all events
   */
  refresh<S, E>(stream: string, type: StreamType<S, E>, see?: See): Promise<StreamState<S>>;
  async refresh(stream: string, type: AnyStreamType, see?: See): Promise<StreamState> {
    const load = this.#loads.begin(stream);
    try {
      const state = await this.#read(stream, type, see);
      // A state older than an event that arrived during the read is not cached.
      if (state.revision >= load.newest) this.set(stream, state, type);
      return state;
    } finally {
      this.#loads.end(stream, load);
    }
  }

  /** The state before the event at `position` of the log. */
  async before<S, E>(stream: string, type: StreamType<S, E>, position: Position): Promise<S> {
    const present = await this.refresh(stream, type);
    if (present.position === undefined || present.position < position) return present.state;
    const past = await this.#readRest(stream, emptyOf(type), type, undefined, position);
    // The stream's name contains the category of its type.
    return past.state as S;
  }

  /**
   * Like {@link load}, for many streams of one type; reads `SLICE` streams per tick.
   * @param uncached keeps the states of streams with fewer than `SHORT` events out of the cache. States of longer
   * streams are cached, since reading them again costs several reads.
   */
  async loadMany<S, E>(
    tenantId: string,
    type: StreamType<S, E>,
    ids: readonly string[],
    { uncached }: { readonly uncached: boolean },
  ): Promise<StreamState<S>[]> {
    const streams = ids.map((id) => streamName(tenantId, type.category, id));
    const states = streams.map((stream) => this.cached(stream));
    const missing = streams.flatMap((stream, at) => (states[at] === undefined ? [{ stream, at }] : []));
    const loads = uncached ? [] : missing.map(({ stream }) => this.#loads.begin(stream));
    try {
      for (let from = 0; from < missing.length; from += SLICE) {
        if (from > 0) await nextTick();
        const slice = missing.slice(from, from + SLICE);
        const read = await this.#events.readStreams(
          slice.map(({ stream }) => stream),
          SHORT,
        );
        for (const [nth, { stream, at }] of slice.entries()) {
          const events = read[nth] ?? [];
          if (events.length >= SHORT) {
            states[at] = await this.refresh(stream, type);
            continue;
          }
          const state = this.#foldAll(emptyOf(type), events, type);
          states[at] = state;
          const newest = loads[from + nth]?.newest;
          if (newest !== undefined && state.revision >= newest) this.set(stream, state, type);
        }
      }
    } finally {
      for (const [nth, { stream }] of missing.entries()) {
        const load = loads[nth];
        if (load !== undefined) this.#loads.end(stream, load);
      }
    }
    // Each stream's name contains the category of the type that folded it.
    return states as StreamState<S>[];
  }

  async #read(stream: string, type: AnyStreamType, see?: See): Promise<StreamState> {
    const cached = this.#cache.get(stream);
    if (cached !== undefined) return this.#readRest(stream, cached, type, see);
    // Most streams are short and have no snapshot.
    const first = await this.#events.readStream(stream, { limit: SHORT });
    if (first.length >= SHORT) {
      return this.#readRest(stream, await this.#fromSnapshot(stream, type), type, see);
    }
    return this.#foldAll(emptyOf(type), first, type, see);
  }

  /** @param bound only events before this position are folded */
  async #readRest(
    stream: string,
    from: StreamState,
    type: AnyStreamType,
    see?: See,
    bound?: Position,
  ): Promise<StreamState> {
    const slice = timeSlices.of(ownerOf(stream), 'fold');
    let state = from;
    for (;;) {
      const read = await this.#events.readStream(stream, { from: state.revision + 1, limit: PAGE });
      const page = bound === undefined ? read : read.filter(({ position }) => position < bound);
      for (let at = 0; at < page.length; at += STEP) {
        const wait = at > 0 ? slice.pause() : undefined;
        if (wait !== undefined) await wait;
        state = this.#foldAll(state, page.slice(at, at + STEP), type, see);
      }
      if (page.length < PAGE) return state;
    }
  }

  #foldAll(from: StreamState, events: readonly StoredEvent[], type: AnyStreamType, see?: See): StreamState {
    let state = from;
    for (const stored of events) {
      const event = this.#codec.decodeOnce(stored);
      see?.(event);
      state = this.#fold(state, event, type);
    }
    return state;
  }

  /** Caches a state unless a newer one is cached. */
  set(stream: string, state: StreamState, type: AnyStreamType): void {
    const present = this.#cache.get(stream);
    if (present !== undefined && present.revision > state.revision) return;
    this.#cache.set(stream, state);
    this.#cache.trim();
    if (state.revision >= (this.#snapshotDue.get(stream) ?? SNAPSHOT_EVERY - 1)) {
      this.#takeSnapshot(stream, state, type);
    }
  }

  /** Drops a cached state, for example when the outcome of an append is unknown. */
  drop(stream: string): void {
    this.#cache.delete(stream);
    this.#snapshotDue.delete(stream);
  }

  /** Records a revision seen on the log; drops a cached state that is older. */
  onEvent(stream: string, revision: number): void {
    this.#loads.onRevision(stream, revision);
    if (!this.#appends.onRevision(stream, revision)) this.#dropBehind(stream, revision);
  }

  /**
   * Runs an append of this process and the caching of the state after it. Drops an older cached state only at the end,
   * since an event that arrives before the end is usually one of the append.
   */
  async whileAppending<T>(stream: string, append: () => Promise<T>): Promise<T> {
    const watch = this.#appends.begin(stream);
    try {
      return await append();
    } finally {
      this.#appends.end(stream, watch);
      this.#dropBehind(stream, watch.newest);
    }
  }

  #dropBehind(stream: string, revision: number): void {
    const cached = this.#cache.get(stream);
    if (cached !== undefined && cached.revision < revision) this.drop(stream);
  }

  #fold(state: StreamState, event: LoggedEvent, type: AnyStreamType): StreamState {
    return {
      state: type.evolve(state.state, event, { at: event.at, revision: event.revision }),
      revision: event.revision,
      hash: event.hash,
      at: event.at,
      position: event.position,
    };
  }

  async #fromSnapshot(stream: string, type: AnyStreamType): Promise<StreamState> {
    const empty = emptyOf(type);
    const snapshot = await this.#snapshots.get(stream).catch((error: unknown) => {
      this.#logger.warn({ err: error, stream }, 'a snapshot could not be read; folding from the first event');
      return undefined;
    });
    if (snapshot === undefined || snapshot.stateVersion !== type.stateVersion) return empty;
    const { revision, hash, at } = snapshot;
    const position = this.#events.parsePosition(snapshot.position);
    const state = parsed(snapshot.state);
    if (position === undefined || state === undefined) return empty;
    // The log is authoritative: after an older log was restored, a snapshot's hash may not be in the stream.
    const [event] = await this.#events.readStream(stream, { from: revision, limit: 1 });
    if (event === undefined || this.#codec.decode(event).hash !== hash) return empty;
    this.#snapshotDue.set(stream, nextSnapshot(revision, snapshot.state));
    return { state: state.value, revision, hash, at, position };
  }

  #takeSnapshot(stream: string, state: StreamState, type: AnyStreamType): void {
    if (state.position === undefined) return;
    const { revision, hash, at, position } = state;
    const text = JSON.stringify(state.state);
    this.#snapshotDue.set(stream, nextSnapshot(revision, text));
    this.#snapshots
      .put(stream, { stateVersion: type.stateVersion, revision, hash, at, position, state: text })
      .catch((error: unknown) =>
        this.#logger.warn({ err: error, stream }, 'a snapshot could not be written'),
      );
  }
}

const nextSnapshot = (revision: number, text: string): number =>
  revision + Math.max(SNAPSHOT_EVERY, Math.ceil(text.length / SNAPSHOT_CHARS));

/** Undefined for text that is not JSON. */
const parsed = (text: string): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(text) };
  } catch {
    return undefined;
  }
};
