import { DomainError } from '../../domain/errors.ts';
import {
  type Delivery,
  deliveryDecider,
  type RecordAttempt,
  recordAttempt,
} from '../../domain/webhooks/delivery.ts';
import { DeliverySucceeded } from '../../domain/webhooks/delivery-events.ts';
import type { Cause, EventCodec } from '../codec.ts';
import type { CommandHandler } from '../command-handler.ts';
import type { Clock, Ids } from '../ports/clock.ts';
import { type EventStore, type NewEvent, type Position, StoreUnavailable } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';
import type { Metrics } from '../ports/metrics.ts';
import type { StreamState, StreamStates } from '../stream-states.ts';
import { streamName } from '../streams.ts';

export interface RecorderDeps {
  readonly commands: CommandHandler;
  readonly states: StreamStates;
  readonly events: EventStore;
  readonly codec: EventCodec;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** An attempt that was made, and the delivery as it was when it began. */
export interface DoneAttempt {
  readonly tenantId: string;
  readonly deliveryId: string;
  readonly head: StreamState<Delivery>;
  readonly record: RecordAttempt;
  readonly cause: Cause;
}

interface Waiting {
  readonly done: DoneAttempt;
  readonly resolve: (position: Position | undefined) => void;
  readonly reject: (error: unknown) => void;
}

interface Encoded {
  readonly event: NewEvent;
  readonly after: StreamState<Delivery>;
}

/** So many are enough to go to disk together. */
const ENOUGH = 192;
/** After so many at once others are about to come, and are waited for. */
const COMPANY = 8;
/** No lane is held up by it: who has no room for a further attempt says so. */
const LINGER_MS = 20;
const TRIES = 6;

/**
 * Writes down what became of attempts, many at once: each is decided on the state that its attempt began with and appended
 * at the revision of that, all in one transaction. Who wrote to a delivery meanwhile is not overwritten: the store
 * refuses, and what was done is decided again as a command, on what is there.
 */
export class AttemptRecorder {
  readonly #deps: RecorderDeps;
  #waiting: Waiting[] = [];
  #lastSize = 0;
  #timer: NodeJS.Timeout | undefined;
  #soon: NodeJS.Immediate | undefined;

  constructor(deps: RecorderDeps) {
    this.#deps = deps;
  }

  /**
   * @returns how far the log is known of the delivery
   * @throws {StoreUnavailable}, `unavailable` after a few tries
   */
  record(done: DoneAttempt, urgency: 'soon' | 'with others'): Promise<Position | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ done, resolve, reject });
      if (urgency === 'soon' || this.#lastSize < COMPANY || this.#waiting.length >= ENOUGH) this.hurry();
      else this.#timer ??= setTimeout(this.#flush, LINGER_MS);
    });
  }

  /** Somebody waits for what is to be written. */
  hurry(): void {
    if (this.#waiting.length > 0) this.#soon ??= setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    clearImmediate(this.#soon);
    this.#timer = undefined;
    this.#soon = undefined;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#lastSize = batch.length;
    const began = performance.now();
    const written = batch.map((each) => this.#append(each));
    void Promise.all(written).then((all) => {
      const count = all.filter(Boolean).length;
      if (count > 0) this.#deps.metrics.eventsAppended(count, (performance.now() - began) / 1000);
    });
  };

  /** Never rejects. @returns whether it was written here */
  #append(waiting: Waiting): Promise<boolean> {
    const { tenantId, deliveryId, head } = waiting.done;
    const stream = streamName(tenantId, deliveryDecider.category, deliveryId);
    const otherwise = (): false => {
      this.#execute(waiting.done).then(waiting.resolve, waiting.reject);
      return false;
    };
    const encoded = this.#tryEncode(stream, waiting.done);
    if (encoded === undefined) return Promise.resolve(otherwise());
    return this.#deps.events.append(stream, head.revision, [encoded.event]).then(({ position }) => {
      this.#remember(stream, { ...encoded.after, position });
      waiting.resolve(position);
      return true;
    }, otherwise);
  }

  /** What cannot be encoded here is told by the command; the others of the batch are not to suffer for it. */
  #tryEncode(stream: string, done: DoneAttempt): Encoded | undefined {
    try {
      return this.#encode(stream, done);
    } catch {
      return undefined;
    }
  }

  /** Undefined when it is not one event that is to be written. */
  #encode(stream: string, { tenantId, head, record, cause }: DoneAttempt): Encoded | undefined {
    const { clock, codec, ids } = this.#deps;
    const at = Math.max(clock.now(), head.at);
    const [event, ...others] = recordAttempt(head.state, record, { now: at });
    if (event === undefined || others.length > 0) return undefined;
    const { stored, recorded } = codec.encode(
      stream,
      tenantId,
      head,
      { ...event, id: ids.next(), at },
      cause,
      // Thousands a second, of which the other thread alone reads most.
      event.type !== DeliverySucceeded.type,
    );
    const { revision, hash } = recorded;
    const state = deliveryDecider.evolve(head.state, event, { at, revision });
    return { event: stored, after: { state, revision, hash, at, position: head.position } };
  }

  /** Most are never looked at again: memory is for others. */
  #remember(stream: string, after: StreamState<Delivery>): void {
    if (after.state.kind === 'scheduled' && after.state.dueAt !== null) {
      this.#deps.states.set(stream, after, deliveryDecider);
    } else this.#deps.states.drop(stream);
  }

  /** What happened outside is worth a few tries to write down: else it happens again. */
  async #execute({ tenantId, deliveryId, record, cause }: DoneAttempt): Promise<Position | undefined> {
    const { commands, states, logger, sleep } = this.#deps;
    const stream = streamName(tenantId, deliveryDecider.category, deliveryId);
    for (let tries = 1; ; tries += 1) {
      try {
        const { state, position } = await commands.execute({
          tenantId,
          decider: deliveryDecider,
          id: deliveryId,
          cause,
          decide: (current, at) => recordAttempt(current, record, at),
        });
        if (state.kind !== 'scheduled' || state.dueAt === null) states.drop(stream);
        return position;
      } catch (error) {
        const passes = error instanceof StoreUnavailable || isBusy(error);
        if (!passes || tries >= TRIES) throw error;
        logger.warn({ err: error, delivery_id: deliveryId }, 'an attempt could not be recorded yet');
        await sleep(50 * 2 ** tries, NEVER);
      }
    }
  }
}

const NEVER = new AbortController().signal;

const isBusy = (error: unknown): boolean => error instanceof DomainError && error.code === 'unavailable';
