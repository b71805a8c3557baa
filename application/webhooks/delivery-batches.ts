import {
  type Delivery,
  deliveryStream,
  type RecordAttempt,
  recordAttempt,
} from '../../domain/webhooks/delivery.ts';
import type { StreamCommand } from '../core/commands/command.ts';
import type { StreamState, StreamStates } from '../core/commands/stream-states.ts';
import type { Streams } from '../core/commands/streams.ts';
import { backoffMs, isUnavailable, STORE_AWAY } from '../core/concurrency/retry-policy.ts';
import type { Cause, EventCodec, LoggedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import { clearTimeout, monotonic, setImmediate, setTimeout, type Timer } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { EventStore, Position, StoredEvent } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import { isWhole, partsOf } from './event-data.ts';

/** The state of a delivery, and the events of its body that are in memory (maybe none). */
interface LoadedDelivery {
  readonly loaded: StreamState<Delivery>;
  readonly body: readonly LoggedEvent[];
}

/** A delivery that was read ahead. */
export interface FoundDelivery extends LoadedDelivery {
  /** Time of the read (ms), by `monotonic()`. */
  readonly readAt: number;
}

/** Data about a delivery that is in memory before its attempt. */
export interface KnownDelivery {
  /** The first event of the delivery. */
  readonly scheduledEvent?: LoggedEvent | undefined;
  /** The delivery from {@link DeliveryBatches.readAhead}; undefined when it was not found or has changed since. */
  readonly found?: (() => FoundDelivery | undefined) | undefined;
}

/** A finished attempt, and the delivery's state when the attempt began. */
interface DoneAttempt {
  readonly tenantId: string;
  readonly deliveryId: string;
  readonly loaded: StreamState<Delivery>;
  readonly record: RecordAttempt;
  readonly cause: Cause;
}

interface QueuedAttempt {
  readonly done: DoneAttempt;
  readonly signal: AbortSignal;
  readonly tries: number;
  readonly resolve: (position: Position | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** How long (ms) data that was read ahead is used. */
const FRESH_MS = 500;
/** Limit of characters read ahead for one worker; other deliveries are read when they are sent. */
const MAX_AHEAD = 256 * 1024;
/** Limit of characters read ahead for all workers together, since many workers may have to wait long. */
const MAX_TOTAL_AHEAD = 128 * MAX_AHEAD;
/** Limit of workers that read ahead at the same time, since each read may return one oversized delivery. */
const MAX_READERS = 16;

/** A batch of this size is written without a further wait. */
const FULL = 192;
/** After a batch of this size or more, the next batch waits for further attempts. */
const BUSY = 8;
/** Longest wait (ms) of a batch. */
const LINGER_MS = 20;

/**
 * Reads deliveries ahead of their attempts, and records the outcomes, many at a time (decision 21). Each outcome is
 * decided on the state with which its attempt began; if the delivery has changed since, `executeAll` decides again on
 * the new state.
 */
export class DeliveryBatches extends WithDeps<{
  readonly streams: Streams;
  readonly states: StreamStates;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}> {
  /** Characters read ahead that are held now. */
  #ahead = 0;
  #readers = 0;
  #queued: QueuedAttempt[] = [];
  #lastSize = 0;
  #timer: Timer | undefined;
  #isDue = false;

  /**
   * Reads uncached deliveries in one query. Returns the deliveries whose only event holds the whole body (this is true
   * of nearly all); returns none while a limit of characters or of readers is reached. Clears the result after 500 ms.
   */
  async readAhead(tenantId: string, ids: readonly string[]): Promise<Map<string, FoundDelivery>> {
    const found = new Map<string, FoundDelivery>();
    const wanted = ids.filter((id) => this.deps.states.cached(streamOf(tenantId, id)) === undefined);
    if (this.#readers >= MAX_READERS || this.#ahead + MAX_AHEAD > MAX_TOTAL_AHEAD) return found;
    this.#readers += 1;
    this.#ahead += MAX_AHEAD;
    let unused = MAX_AHEAD;
    try {
      if (wanted.length > 0) unused = await this.#readInto(found, tenantId, wanted);
    } finally {
      this.#readers -= 1;
      this.#ahead -= unused;
      setTimeout(() => {
        found.clear();
        this.#ahead -= MAX_AHEAD - unused;
      }, FRESH_MS).unref();
    }
    return found;
  }

  /** @returns the unused characters of {@link MAX_AHEAD}; 0 when that limit was exceeded */
  async #readInto(
    found: Map<string, FoundDelivery>,
    tenantId: string,
    ids: readonly string[],
  ): Promise<number> {
    const readAt = monotonic();
    const streams = ids.map((id) => streamOf(tenantId, id));
    const read = await this.deps.events.readStreams(streams, 2, MAX_AHEAD);
    let left = MAX_AHEAD;
    for (const [nth, id] of ids.entries()) {
      const events = read[nth] ?? [];
      for (const { data, metadata } of events) left -= data.length + metadata.length;
      if (left < 0) return 0;
      const [first] = events;
      const event = first === undefined || events.length > 1 ? undefined : this.#decoded(first);
      if (event !== undefined && isWhole([event]))
        found.set(id, { loaded: stateAfter(event), body: [event], readAt });
    }
    return left;
  }

  /** Undefined for an event that cannot be decoded: the delivery's own attempt then fails. */
  #decoded(stored: StoredEvent): LoggedEvent | undefined {
    try {
      return this.deps.codec.decodeOnce(stored);
    } catch {
      return undefined;
    }
  }

  /**
   * Returns the delivery as cached, read ahead, or read now.
   * @throws {StoreUnavailable}
   */
  async load(tenantId: string, id: string, known: KnownDelivery): Promise<LoadedDelivery> {
    const { scheduledEvent } = known;
    const found = known.found?.();
    const stream = streamOf(tenantId, id);
    const cached = this.deps.states.cached(stream, deliveryStream);
    if (cached !== undefined)
      return { loaded: cached, body: scheduledEvent === undefined ? (found?.body ?? []) : [scheduledEvent] };
    if (found !== undefined && monotonic() - found.readAt < FRESH_MS) return found;
    return this.#read(stream);
  }

  async #read(stream: string): Promise<LoadedDelivery> {
    const body: LoggedEvent[] = [];
    // A read that continues a cached state begins after the body, and collects nothing.
    const see = (event: LoggedEvent): void => {
      if (event.revision === body.length) body.push(event);
    };
    const loaded = await this.deps.states.refresh(stream, deliveryStream, see);
    return { loaded, body: body.slice(0, partsOf(body[0])) };
  }

  /**
   * Tries again while the store is unavailable, until `signal` aborts.
   * @returns the position of the delivery's last event
   * @throws {StoreUnavailable}, `unavailable`
   */
  record(
    done: DoneAttempt,
    urgency: 'soon' | 'with others',
    signal: AbortSignal,
  ): Promise<Position | undefined> {
    return new Promise((resolve, reject) => {
      this.#queued.push({ done, signal, tries: 1, resolve, reject });
      if (urgency === 'soon' || this.#lastSize < BUSY || this.#queued.length >= FULL) this.flushNow();
      else this.#timer ??= setTimeout(this.#flush, LINGER_MS);
    });
  }

  /** Writes all queued attempts at the end of this tick. */
  flushNow(): void {
    if (this.#queued.length === 0 || this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    if (this.#queued.length === 0) return;
    const batch = this.#queued;
    this.#queued = [];
    this.#lastSize = batch.length;
    const byTenant = Map.groupBy(batch, ({ done }) => done.tenantId);
    for (const [tenantId, attempts] of byTenant) void this.#write(tenantId, attempts);
  };

  /** Never rejects. */
  async #write(tenantId: string, batch: readonly QueuedAttempt[]): Promise<void> {
    const commands = batch.map(commandOf);
    const settled = await this.deps.streams
      .executeAll(deliveryStream, tenantId, commands, { uncached: true })
      .catch((reason: unknown) => batch.map(() => ({ status: 'rejected' as const, reason })));
    for (const [nth, attempt] of batch.entries()) {
      const outcome = settled[nth];
      if (outcome?.status === 'fulfilled') attempt.resolve(outcome.value.position);
      else void this.#retry(attempt, outcome?.reason);
    }
  }

  /** Retries a failed record, since a delivery whose attempt is not recorded would be sent again. */
  async #retry(attempt: QueuedAttempt, error: unknown): Promise<void> {
    const { done, signal, tries, reject } = attempt;
    if (!isUnavailable(error) || signal.aborted) return reject(error);
    const { logger, sleep } = this.deps;
    if (tries === 1) {
      logger.warn({ err: error, delivery_id: done.deliveryId }, 'an attempt could not be recorded; retrying');
    }
    await sleep(backoffMs(STORE_AWAY, tries), signal);
    this.#queued.push({ ...attempt, tries: tries + 1 });
    this.flushNow();
  }
}

const streamOf = (tenantId: string, id: string): string => streamName(tenantId, deliveryStream.category, id);

/** The state of a delivery that has only this event. */
const stateAfter = (scheduledEvent: LoggedEvent): StreamState<Delivery> => {
  const { revision, hash, at, position } = scheduledEvent;
  // The cast holds: it is an event of a delivery's stream.
  const event = scheduledEvent as Parameters<typeof deliveryStream.evolve>[1];
  const state = deliveryStream.evolve(deliveryStream.initial, event, { at, revision });
  return { state, revision, hash, at, position };
};

const commandOf = ({
  done: { deliveryId, loaded, record, cause },
  tries,
}: QueuedAttempt): StreamCommand<Delivery, ReturnType<typeof recordAttempt>[number]> => ({
  id: deliveryId,
  context: { cause },
  // A retry loads the state again: the earlier try may have been stored although its answer was lost.
  loaded: tries === 1 ? loaded : undefined,
  decide: (state, at) => recordAttempt(state, record, at),
});
