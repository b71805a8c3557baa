import { DomainError } from '../../../domain/core/errors.ts';
import { UserForgotten } from '../../../domain/identity/user.ts';
import type { EventStore, Position, StoredEvent } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import type { StreamStates } from '../commands/stream-states.ts';
import type { EventCodec, LoggedEvent } from '../events/event-codec.ts';
import { ERASING, erasedKeyId } from '../privacy/erasures.ts';
import { firstAdminKeyId } from '../privacy/key-ids.ts';
import type { KeyRing } from '../privacy/key-ring.ts';
import { monotonic, timer } from '../runtime/timers.ts';
import {
  BehaviorSubject,
  catchError,
  defer,
  EMPTY,
  exhaustMap,
  first,
  firstValueFrom,
  map,
  merge,
  type Observable,
  of,
  switchMap,
  throwError,
} from '../rxjs.ts';
import type { EventBatch, LogFollower } from './log-follower.ts';

const WAIT_MS = 5000;
/** Interval (ms) of reading the log's end; how long (ms) the feed is current after a read whose end it has reached. */
const ASK_MS = 1000;
const CURRENT_MS = 5000;

/** A listener must return quickly, since later events wait until it returns. */
export type LiveListener = (event: LoggedEvent) => void;

/**
 * Follows the log on every node, from the log's end at the start of the process: drops cached states and keys that
 * another node changed, and calls listeners with new events. {@link LiveFeed.isCurrent} bounds the age of cached
 * states.
 */
export class LiveFeed {
  readonly #events: Pick<EventStore, 'end'>;
  readonly #follower: LogFollower;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  readonly #keys: KeyRing;
  readonly #logger: Logger;
  readonly #listeners: LiveListener[] = [];
  readonly #grown: (() => void)[] = [];
  readonly #stored: ((event: StoredEvent) => void)[] = [];
  /** Types with a listener, and types that erase; other events are not decoded. */
  readonly #types = new Set(ERASING);
  readonly #position = new BehaviorSubject<Position | undefined>(undefined);
  /** Time (ms of the process) of the last read of the log's end whose result the feed has reached. */
  #currentAt = Number.NEGATIVE_INFINITY;

  constructor(deps: {
    events: Pick<EventStore, 'end'>;
    follower: LogFollower;
    codec: EventCodec;
    states: StreamStates;
    keys: KeyRing;
    logger: Logger;
  }) {
    this.#events = deps.events;
    this.#follower = deps.follower;
    this.#codec = deps.codec;
    this.#states = deps.states;
    this.#keys = deps.keys;
    this.#logger = deps.logger;
  }

  /** Position of the last delivered event. */
  get position(): Position | undefined {
    return this.#position.value;
  }

  /** Whether all events up to `position` were delivered, so that no cached state lacks one of them. */
  hasReached(position: Position): boolean {
    return this.position !== undefined && this.position >= position;
  }

  /** Whether all events that were in the log 5 s ago were delivered. False once the store has not answered for 5 s. */
  get isCurrent(): boolean {
    return monotonic() - this.#currentAt <= CURRENT_MS;
  }

  /** Waits until {@link hasReached}. @throws `read_model_behind` after 5 s */
  async reach(position: Position): Promise<void> {
    const behind = () =>
      new DomainError('read_model_behind', 'This node lags behind. Try again.', { retry_after: 1 });
    const tooLate = timer(WAIT_MS).pipe(switchMap(() => throwError(behind)));
    await firstValueFrom(merge(this.#reached(position), tooLate));
  }

  /** @param types event types that the listener needs; it is also called with events that other listeners need */
  onEvent(listener: LiveListener, types: readonly string[]): void {
    this.#listeners.push(listener);
    for (const type of types) this.#types.add(type);
  }

  /** Registers a listener that is called once per batch of new events. */
  onGrowth(listener: () => void): void {
    this.#grown.push(listener);
  }

  /** Registers a listener for every event, as stored. */
  onStored(listener: (event: StoredEvent) => void): void {
    this.#stored.push(listener);
  }

  /** Follows from the present end of the log until aborted; calls `started` once that end is known. */
  async run(signal: AbortSignal, started: () => void): Promise<void> {
    const asked = monotonic();
    const end = await this.#events.end();
    this.#position.next(end);
    this.#currentAt = asked;
    started();
    const confirming = this.#confirmed().subscribe((at) => {
      this.#currentAt = at;
    });
    try {
      // Urgent: does not wait for other followers, since revocations of rights arrive by this feed.
      await this.#follower.run({ after: end, isUrgent: true, signal }, (batch) => this.#onBatch(batch));
    } finally {
      confirming.unsubscribe();
    }
  }

  #onBatch({ events, position }: EventBatch): void {
    if (events.length > 0) for (const grown of this.#grown) grown();
    for (const stored of events) {
      this.#states.onEvent(stored.stream, stored.revision);
      for (const listener of this.#stored) listener(stored);
      if (this.#types.has(stored.type)) this.#dispatch(stored);
    }
    // Listeners are synchronous, so no other code runs between the events of a batch and this update.
    this.#position.next(position);
  }

  #dispatch(stored: StoredEvent): void {
    try {
      const event = this.#codec.decode(stored);
      this.#dropErasedKeys(event);
      for (const listener of this.#listeners) listener(event);
    } catch (error) {
      this.#logger.error({ err: error, event_id: stored.id }, 'the live feed could not deliver an event');
    }
  }

  /**
   * Reads the log's end from the store at intervals, since a feed that lost its connection looks like a log without new
   * events. Emits the time of a read once the feed has reached that end; emits nothing while the store is unavailable.
   */
  #confirmed(): Observable<number> {
    return timer(ASK_MS, ASK_MS).pipe(
      exhaustMap(() => {
        const asked = monotonic();
        return defer(() => this.#events.end()).pipe(
          switchMap((end) => (end === undefined ? of(end) : this.#reached(end))),
          map(() => asked),
          catchError(() => EMPTY),
        );
      }),
    );
  }

  #reached(position: Position): Observable<Position | undefined> {
    return this.#position.pipe(first(() => this.hasReached(position)));
  }

  #dropErasedKeys(event: LoggedEvent): void {
    const id = erasedKeyId(event);
    if (id !== undefined) this.#keys.markDestroyed(id);
    // The tenant's first event may hold a copy of the person's data under this key, so the key's state is read again.
    if (event.type === UserForgotten.type) this.#keys.forget(firstAdminKeyId(event.tenantId));
  }
}
