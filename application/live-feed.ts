import { DomainError } from '../domain/errors.ts';
import { MessageDeleted, textKeyOf } from '../domain/messaging/conversation.ts';
import { dataOf, type EventCodec, type LoggedEvent } from './codec.ts';
import type { EventStore, Position } from './ports/event-store.ts';
import type { Logger } from './ports/logger.ts';
import type { KeyRing } from './sealing.ts';
import type { StreamStates } from './stream-states.ts';

const WAIT_MS = 5000;
const POLL_MS = 5;

export type LiveListener = (event: LoggedEvent) => void | Promise<void>;

/**
 * Follows the live end of the log on every node, whatever its role: drops states and keys that another node left
 * behind, and hands each event to the WebSocket fan-out, one after the other.
 */
export class LiveFeed {
  readonly #events: EventStore;
  readonly #codec: EventCodec;
  readonly #states: StreamStates;
  readonly #keys: KeyRing;
  readonly #logger: Logger;
  readonly #listeners: LiveListener[] = [];
  #position: Position | undefined;

  constructor(deps: {
    events: EventStore;
    codec: EventCodec;
    states: StreamStates;
    keys: KeyRing;
    logger: Logger;
  }) {
    this.#events = deps.events;
    this.#codec = deps.codec;
    this.#states = deps.states;
    this.#keys = deps.keys;
    this.#logger = deps.logger;
  }

  /** The last event handed on; everything after it is still to come. */
  get position(): Position | undefined {
    return this.#position;
  }

  /** Whether everything up to `position` was handed on, so that no state in memory is older. */
  hasReached(position: Position): boolean {
    return this.#position !== undefined && this.#position >= position;
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

  onEvent(listener: LiveListener): void {
    this.#listeners.push(listener);
  }

  /** Follows from the present head until aborted; resolves `started` once the starting point is known. */
  async run(signal: AbortSignal, started: () => void): Promise<void> {
    this.#position = await this.#events.head();
    started();
    for await (const batch of this.#events.subscribe({ after: this.#position, signal })) {
      for (const stored of batch.events) {
        this.#states.noticed(stored.stream, stored.revision);
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
        this.#position = stored.position;
      }
      this.#position = batch.position;
    }
  }

  #noticeErasure(event: LoggedEvent): void {
    const deleted = dataOf(MessageDeleted, event);
    if (deleted !== undefined) this.#keys.markDestroyed(`${event.tenantId}/${textKeyOf(deleted)}`);
  }
}
