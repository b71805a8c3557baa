import { DomainError } from '../domain/errors.ts';
import { personKey, UserForgotten } from '../domain/identity/user.ts';
import { MessageDeleted, textKeyOf } from '../domain/messaging/conversation.ts';
import { dataOf, type EventCodec, type LoggedEvent } from './codec.ts';
import { pause } from './lease-holder.ts';
import type { EventStore, Position, StoredEvent } from './ports/event-store.ts';
import type { Logger } from './ports/logger.ts';
import type { KeyRing } from './sealing.ts';
import type { StreamStates } from './stream-states.ts';

const WAIT_MS = 5000;
const POLL_MS = 5;
/** How often the log is asked where it ends, how often whether the feed has come there, how long that counts. */
const ASK_MS = 1000;
const REACH_MS = 50;
const CURRENT_MS = 5000;

export type LiveListener = (event: LoggedEvent) => void | Promise<void>;

/** What the feed itself looks at. */
const OWN: readonly string[] = [MessageDeleted.type, UserForgotten.type];

/**
 * Follows the live end of the log on every node, whatever its role: drops states and keys that another node left
 * behind, and hands each event to the WebSocket fan-out, one after the other. States in memory are as good as this
 * feed: {@link LiveFeed.isCurrent} bounds how old they may be.
 */
export class LiveFeed {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  readonly #keys: KeyRing;
  readonly #logger: Logger;
  readonly #listeners: LiveListener[] = [];
  readonly #grown: (() => void)[] = [];
  /** Types that somebody listens to. */
  readonly #heard = new Set(OWN);
  readonly #monotonic: () => number;
  #position: Position | undefined;
  /** When the log was last asked for an end that has been reached since. */
  #currentAt = Number.NEGATIVE_INFINITY;

  constructor(deps: {
    events: EventStore;
    codec: EventCodec;
    states: StreamStates;
    keys: KeyRing;
    logger: Logger;
    /** Milliseconds that never go back. */
    monotonic?: (() => number) | undefined;
  }) {
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#states = deps.states;
    this.#keys = deps.keys;
    this.#logger = deps.logger;
    this.#monotonic = deps.monotonic ?? (() => performance.now());
  }

  /** The last event handed on; everything after it is still to come. */
  get position(): Position | undefined {
    return this.#position;
  }

  /** Whether everything up to `position` was handed on, so that no state in memory is older. */
  hasReached(position: Position): boolean {
    return this.#position !== undefined && this.#position >= position;
  }

  /** Whether everything that was in the log 5 s ago was handed on. False while the store or the subscription is gone. */
  get isCurrent(): boolean {
    return this.#monotonic() - this.#currentAt <= CURRENT_MS;
  }

  /** Waits until {@link hasReached}. @throws `read_model_behind` after 5 s */
  async reach(position: Position): Promise<void> {
    const deadline = performance.now() + WAIT_MS;
    while (!this.hasReached(position)) {
      if (performance.now() > deadline) {
        throw new DomainError('read_model_behind', 'This node has not caught up yet.', { retry_after: 1 });
      }
      await new Promise((resolve) => setTimeout(resolve, POLL_MS));
    }
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

  /** Follows from the present head until aborted; resolves `started` once the starting point is known. */
  async run(signal: AbortSignal, started: () => void): Promise<void> {
    const asked = this.#monotonic();
    this.#position = await this.#events.head();
    this.#currentAt = asked;
    started();
    const ended = new AbortController();
    // Nobody waits for it: a store that does not answer must not hold up the end of the process.
    void this.#keepAsking(ended.signal);
    try {
      await this.#follow(signal);
    } finally {
      ended.abort();
    }
  }

  async #follow(signal: AbortSignal): Promise<void> {
    for await (const batch of this.#events.subscribe({ after: this.#position, signal })) {
      // First of all: what is handed on may have to wait for a store.
      if (batch.events.length > 0) for (const grown of this.#grown) grown();
      for (const stored of batch.events) {
        this.#states.noticed(stored.stream, stored.revision);
        // Most events are nobody's here, and are not read.
        if (this.#heard.has(stored.type)) await this.#handOn(stored);
        this.#position = stored.position;
      }
      this.#position = batch.position;
    }
  }

  async #handOn(stored: StoredEvent): Promise<void> {
    try {
      const event = this.#codec.decode(stored);
      this.#noticeErasure(event);
      for (const listener of this.#listeners) {
        const pending = listener(event);
        if (pending !== undefined) await pending;
      }
    } catch (error) {
      this.#logger.error({ err: error, event_id: stored.id }, 'an event could not be handed on live');
    }
  }

  /**
   * A subscription that was cut off looks like a quiet one, so the log itself is asked where it ends, and the feed has
   * to come there. While the one or the other waits nothing is confirmed.
   */
  async #keepAsking(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(ASK_MS, signal);
      const asked = this.#monotonic();
      try {
        const end = await this.#events.head();
        while (end !== undefined && !this.hasReached(end) && !signal.aborted) await pause(REACH_MS, signal);
        if (!signal.aborted) this.#currentAt = asked;
      } catch {
        // Who needs the store says so; here it is enough that nothing was confirmed.
      }
    }
  }

  #noticeErasure(event: LoggedEvent): void {
    const deleted = dataOf(MessageDeleted, event);
    if (deleted !== undefined) this.#keys.markDestroyed(`${event.tenantId}/${textKeyOf(deleted)}`);
    const forgotten = dataOf(UserForgotten, event);
    if (forgotten !== undefined) this.#keys.markDestroyed(`${event.tenantId}/${personKey(forgotten)}`);
  }
}
