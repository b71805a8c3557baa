import {
  BehaviorSubject,
  catchError,
  defer,
  EMPTY,
  exhaustMap,
  first,
  firstValueFrom,
  map,
  type Observable,
  of,
  switchMap,
  throwError,
  timeout,
  timer,
} from 'rxjs';
import { DomainError } from '../../../domain/core/errors.ts';
import { UserForgotten } from '../../../domain/identity/user.ts';
import { MessageDeleted } from '../../../domain/messaging/conversation.ts';
import type { EventStore, Position, StoredEvent } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import type { StreamStates } from '../commands/stream-states.ts';
import { dataOf, type EventCodec, type LoggedEvent } from '../events/event-codec.ts';
import { personKeyId, textKeyOf } from '../privacy/key-ids.ts';
import type { KeyRing } from '../privacy/key-ring.ts';
import type { EventBatch, LogFollower } from './log-follower.ts';

const WAIT_MS = 5000;
/** How often the log is asked where it ends, and how long it counts that the feed has come there. */
const ASK_MS = 1000;
const CURRENT_MS = 5000;

/** A listener must return at once: all later events come behind it. */
export type LiveListener = (event: LoggedEvent) => void;

/** Types that the feed itself listens to. */
const OWN: readonly string[] = [MessageDeleted.type, UserForgotten.type];

/**
 * Follows the live end of the log on every node, whatever its role: drops states and keys that another node left
 * behind, and tells its listeners of each event. States in memory are as good as this feed: {@link LiveFeed.isCurrent}
 * bounds how old they may be.
 */
export class LiveFeed {
  readonly #events: Pick<EventStore, 'head'>;
  readonly #follower: LogFollower;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  readonly #keys: KeyRing;
  readonly #logger: Logger;
  readonly #listeners: LiveListener[] = [];
  readonly #grown: (() => void)[] = [];
  /** Types that somebody listens to. */
  readonly #heard = new Set(OWN);
  readonly #monotonic: () => number;
  readonly #position = new BehaviorSubject<Position | undefined>(undefined);
  /** When the log was last asked for an end that has been reached since. */
  #currentAt = Number.NEGATIVE_INFINITY;

  constructor(deps: {
    events: Pick<EventStore, 'head'>;
    follower: LogFollower;
    codec: EventCodec;
    states: StreamStates;
    keys: KeyRing;
    logger: Logger;
    /** Milliseconds that never go back. */
    monotonic?: (() => number) | undefined;
  }) {
    this.#events = deps.events;
    this.#follower = deps.follower;
    this.#codec = deps.codec;
    this.#states = deps.states;
    this.#keys = deps.keys;
    this.#logger = deps.logger;
    this.#monotonic = deps.monotonic ?? (() => performance.now());
  }

  /** The last event handed on; everything after it is still to come. */
  get position(): Position | undefined {
    return this.#position.value;
  }

  /** Whether everything up to `position` was handed on, so that no state in memory is older. */
  hasReached(position: Position): boolean {
    return this.position !== undefined && this.position >= position;
  }

  /** Whether everything that was in the log 5 s ago was handed on. False while the store or the subscription is gone. */
  get isCurrent(): boolean {
    return this.#monotonic() - this.#currentAt <= CURRENT_MS;
  }

  /** Waits until {@link hasReached}. @throws `read_model_behind` after 5 s */
  async reach(position: Position): Promise<void> {
    const inTime = this.#reached(position).pipe(
      timeout({
        first: WAIT_MS,
        with: () =>
          throwError(
            () =>
              new DomainError('read_model_behind', 'This node has not caught up yet.', { retry_after: 1 }),
          ),
      }),
    );
    await firstValueFrom(inTime);
  }

  /** @param types all that it is to be told of; it may be told of others */
  onEvent(listener: LiveListener, types: readonly string[]): void {
    this.#listeners.push(listener);
    for (const type of types) this.#heard.add(type);
  }

  /** Told that the log has grown, once for several events. */
  onGrowth(listener: () => void): void {
    this.#grown.push(listener);
  }

  /** Follows from the present end of the log until aborted; calls `started` once the starting point is known. */
  async run(signal: AbortSignal, started: () => void): Promise<void> {
    const asked = this.#monotonic();
    const end = await this.#events.head();
    this.#position.next(end);
    this.#currentAt = asked;
    started();
    const confirming = this.#confirmed().subscribe((at) => {
      this.#currentAt = at;
    });
    try {
      await this.#follower.run({ after: end, signal }, (batch) => this.#take(batch));
    } finally {
      confirming.unsubscribe();
    }
  }

  #take({ events, position }: EventBatch): void {
    if (events.length > 0) for (const grown of this.#grown) grown();
    for (const stored of events) {
      this.#states.noticed(stored.stream, stored.revision);
      // Events that nobody listens to are not decoded.
      if (this.#heard.has(stored.type)) this.#handOn(stored);
    }
    // Handling does not wait, so nobody sees the position within a batch.
    this.#position.next(position);
  }

  #handOn(stored: StoredEvent): void {
    try {
      const event = this.#codec.decode(stored);
      this.#noticeErasure(event);
      for (const listener of this.#listeners) listener(event);
    } catch (error) {
      this.#logger.error({ err: error, event_id: stored.id }, 'an event could not be handed on live');
    }
  }

  /**
   * A live source that was cut off looks like a quiet log, so the store is asked where the log ends. Emits the time of
   * the question once the feed has come there; a store that does not answer confirms nothing.
   */
  #confirmed(): Observable<number> {
    return timer(ASK_MS, ASK_MS).pipe(
      exhaustMap(() => {
        const asked = this.#monotonic();
        return defer(() => this.#events.head()).pipe(
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

  #noticeErasure(event: LoggedEvent): void {
    const deleted = dataOf(MessageDeleted, event);
    if (deleted !== undefined) this.#keys.markDestroyed(`${event.tenantId}/${textKeyOf(deleted)}`);
    const forgotten = dataOf(UserForgotten, event);
    if (forgotten !== undefined) this.#keys.markDestroyed(personKeyId(event.tenantId, forgotten.user_id));
  }
}
