import type { Clock, Ids } from '../../ports/clock.ts';
import {
  type EventStore,
  EventTooLarge,
  MAX_EVENT_BYTES,
  type NewEvent,
  type Position,
  StoreUnavailable,
} from '../../ports/event-store.ts';
import type { WrappedKey } from '../../ports/key-store.ts';
import { timeSlices } from '../concurrency/time-slices.ts';
import type { Cause, EventCodec, RecordedEvent } from '../events/event-codec.ts';
import { ownerOf } from '../events/stream-name.ts';
import type { KeyRing } from '../privacy/key-ring.ts';
import { continueSpan, during } from '../runtime/tracing.ts';
import { WithDeps } from '../with-deps.ts';
import type { PriorAttempt, QueuedCommand } from './command.ts';
import type { GroupCommit } from './group-commit.ts';
import type { AnyStreamType, StreamState, StreamStates } from './stream-states.ts';

export interface BatchOptions {
  /** The state was just read from the store. */
  readonly isFresh: boolean;
  /** Keeps the state and the encoded events out of the caches. */
  readonly uncached?: boolean;
}

type Settle = (position: Position | undefined) => void;

/** Most bytes of an append of several commands; stores accept more. */
const MAX_APPEND_BYTES = MAX_EVENT_BYTES + 256 * 1024;

export interface StreamBatchDeps {
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly states: StreamStates;
  readonly keys: KeyRing;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Decides the commands of one stream in order and appends their events together. */
export class StreamBatch extends WithDeps<StreamBatchDeps & { readonly group: GroupCommit }> {
  /**
   * Decides as many commands as fit into one append, appends, then answers them.
   * @returns how many were answered. 0 when the state is not fresh and the first command is refused or appends nothing:
   * another node may have changed the stream, so the state must be read again
   * @throws {WrongExpectedRevision} before any command is answered; {StoreUnavailable} when the outcome is unknown
   */
  async append(
    stream: string,
    batch: readonly QueuedCommand[],
    loaded: StreamState,
    { isFresh, uncached = false }: BatchOptions,
  ): Promise<number> {
    const newKeys: WrappedKey[] = [];
    let current = loaded;
    let bytes = 0;
    const settles: Settle[] = [];
    const events: NewEvent[] = [];
    try {
      for (const waiting of batch) {
        const { command } = waiting;
        if ((command.prepare !== undefined || command.priorAttempt !== undefined) && events.length > 0) break;
        const step = await this.#decide(stream, waiting, current, newKeys, uncached);
        const stays = step.next === current;
        if (stays && !isFresh && events.length === 0 && settles.length === 0) return 0;
        if (stays && !isFresh) break;
        if (bytes + step.bytes > MAX_APPEND_BYTES && settles.length > 0) break;
        bytes += step.bytes;
        current = step.next;
        events.push(...step.events);
        settles.push(step.settle);
      }
      let { position } = loaded;
      if (events.length > 0) {
        const expected = loaded.revision < 0 ? 'no_stream' : loaded.revision;
        position = await this.deps.states.whileAppending(stream, async () => {
          const span = continueSpan('append', 'producer', batch[0]?.command.cause.traceparent, {
            'event.count': events.length,
          });
          const appended = await during(span, this.deps.group.append({ stream, expected, events }, newKeys));
          const type: AnyStreamType | undefined = batch[0]?.command.type;
          // Drops an older cached state.
          if (uncached) this.deps.states.onEvent(stream, current.revision);
          else if (type !== undefined)
            this.deps.states.set(stream, { ...current, position: appended.position }, type);
          return appended.position;
        });
      }
      for (const settle of settles) settle(position);
      return settles.length;
    } finally {
      // An unsaved key of a failed append is dropped, so that no later command seals with it.
      for (const key of newKeys) if (this.deps.keys.unsaved(key.id) === key) this.deps.keys.forget(key.id);
    }
  }

  async #decide(
    stream: string,
    waiting: QueuedCommand,
    current: StreamState,
    newKeys: WrappedKey[],
    uncached: boolean,
  ): Promise<{ next: StreamState; events: NewEvent[]; bytes: number; settle: Settle }> {
    const { command, resolve, reject } = waiting;
    const nothing = { next: current, events: [], bytes: 0 };
    try {
      if (command.priorAttempt !== undefined) {
        const earlier = await this.#appendedBefore(stream, current, command.cause, command.priorAttempt);
        if (earlier.length > 0) {
          const settle: Settle = (position) => resolve({ events: earlier, state: current.state, position });
          return { ...nothing, settle };
        }
      }
      const facts = command.prepare === undefined ? undefined : await command.prepare(current);
      const now = Math.max(this.deps.clock.now(), current.at);
      const decided = command.decide(current.state, { now }, facts);
      if (decided.length === 0) {
        return { ...nothing, settle: (position) => resolve({ events: [], state: current.state, position }) };
      }
      let next = current;
      let bytes = 0;
      const events: NewEvent[] = [];
      const recorded: RecordedEvent[] = [];
      for (const event of decided) {
        const loading = this.#haveKeys(command.tenantId, event, newKeys);
        if (loading !== undefined) await loading;
        const at = Math.max(event.at ?? now, next.at);
        const id = this.deps.ids.next();
        const encoded = this.deps.codec.encode(
          stream,
          command.tenantId,
          next,
          { ...event, id, at },
          command.cause,
          !uncached,
        );
        const size = Buffer.byteLength(encoded.stored.data) + Buffer.byteLength(encoded.stored.metadata);
        if (size > MAX_EVENT_BYTES) throw new EventTooLarge(`an event of ${size} bytes`);
        bytes += size;
        events.push(encoded.stored);
        recorded.push(encoded.recorded);
        next = {
          state: command.type.evolve(next.state, encoded.recorded, { at, revision: next.revision + 1 }),
          revision: next.revision + 1,
          hash: encoded.recorded.hash,
          at,
          position: next.position,
        };
      }
      const { state } = next;
      return {
        next,
        events,
        bytes,
        settle: (position) => {
          if (command.cause.impersonationLog !== undefined) command.cause.impersonationLog.appended = true;
          resolve({ events: recorded, state, position });
        },
      };
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error;
      return { ...nothing, settle: () => reject(error) };
    }
  }

  /** Loads existing keys and creates missing ones; adds keys that must be saved before the append to `newKeys`. */
  #haveKeys(
    tenantId: string,
    event: { type: string; data: unknown },
    newKeys: WrappedKey[],
  ): Promise<void> | undefined {
    const ids = this.deps.codec.keyIds(tenantId, event);
    if (ids.length === 0) return undefined;
    const missing = ids.filter((id) => !this.deps.keys.has(id));
    const collect = (): void => {
      for (const id of ids) {
        // Includes keys that another command has created and not saved yet.
        const key = this.deps.keys.has(id) ? this.deps.keys.unsaved(id) : this.deps.keys.create(id);
        if (key !== undefined) newKeys.push(key);
      }
    };
    if (missing.length > 0) return this.deps.keys.load(missing).then(collect);
    collect();
    return undefined;
  }

  /**
   * Finds the events of an earlier try. Compares the actor too: callers without an idempotency key choose the causation
   * id of their events, and may choose the causation id of another actor's request.
   */
  async #appendedBefore(
    stream: string,
    current: StreamState,
    cause: Cause,
    bound: PriorAttempt,
  ): Promise<RecordedEvent[]> {
    // If the stream has no event after the bound, it has no event of the earlier try.
    if ('after' in bound ? (current.position ?? '') <= bound.after : current.at < bound.since) return [];
    const slice = timeSlices.of(ownerOf(stream), 'appendedBefore');
    await slice.begin();
    const found: RecordedEvent[] = [];
    let from: number | undefined;
    // The first pages are small, since usually only a few events follow the bound.
    for (let limit = 8; ; limit = Math.min(limit * 4, 512)) {
      const page = await this.deps.events.readStream(stream, { direction: 'backward', from, limit });
      for (const stored of page) {
        if (slice.isOver) await slice.next();
        const event = this.deps.codec.decode(stored);
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
