import { Interrupted, RetryPolicy } from '../../application/core/concurrency/retry-policy.ts';
import { dataOf, type LoggedEvent } from '../../application/core/events/event-codec.ts';
import { WithDeps } from '../../application/core/with-deps.ts';
import type { Envelope, Envelopes } from '../../application/messaging/envelopes.ts';
import type { Logger } from '../../application/ports/logger.ts';
import { MessageSent } from '../../domain/messaging/conversation.ts';

interface LiveQueuesDeps {
  readonly envelopes: Pick<Envelopes, 'prepare'>;
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Sends an envelope in the tick of the call. */
  readonly send: (event: LoggedEvent, envelope: Envelope) => void;
  /** Called when no envelope can be built for the event, now or later. */
  readonly onFailed: (event: LoggedEvent) => void;
  /** Called when a tenant's queue is given up: its sockets must reconnect with their last position. */
  readonly onGivenUp: (tenantId: string) => void;
}

/** Maximum wait (ms) of one envelope for a store. */
export const STUCK_MS = 10_000;
/** Maximum of the approximate size of all waiting events. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
/** Approximate size (bytes) of an event without its data. */
const EVENT_BYTES = 1024;

interface TenantQueue {
  readonly ended: AbortController;
  waiting: LoggedEvent[];
  isRunning: boolean;
  held: number;
  /** When work on the first event began, in monotonic ms. */
  since: number;
  /** The last error of the store. */
  failure: unknown;
}

/**
 * Turns live events into envelopes, in one queue per tenant: in order, one at a time, with retries while a store is
 * unavailable. Queues do not wait for each other.
 */
export class LiveQueues extends WithDeps<LiveQueuesDeps> {
  readonly #queues = new Map<string, TenantQueue>();
  #held = 0;

  add(event: LoggedEvent): void {
    const queue = this.#queues.get(event.tenantId) ?? newQueue();
    this.#queues.set(event.tenantId, queue);
    queue.waiting.push(event);
    this.#hold(queue, weightOf(event));
    if (!queue.isRunning) void this.#run(queue);
    if (this.#held > MAX_HELD_BYTES) this.#giveUpFullest();
  }

  /** Drops a tenant's events: no recipient is connected, or the queue is given up. */
  end(tenantId: string): void {
    const queue = this.#queues.get(tenantId);
    if (queue === undefined) return;
    this.#queues.delete(tenantId);
    queue.ended.abort();
    queue.waiting = [];
    this.#hold(queue, -queue.held);
  }

  /** Drops the queues whose first event has waited too long. Call it periodically. */
  check(): void {
    const now = this.deps.monotonic();
    for (const [tenantId, queue] of this.#queues) {
      if (queue.isRunning && now - queue.since > STUCK_MS) this.#giveUp(tenantId, queue);
    }
  }

  async #run(queue: TenantQueue): Promise<void> {
    const { envelopes, logger, monotonic, send, onFailed } = this.deps;
    const { signal } = queue.ended;
    const retries = new RetryPolicy({ clock: { now: monotonic }, limitMs: Number.POSITIVE_INFINITY }, signal);
    queue.isRunning = true;
    while (queue.waiting.length > 0) {
      const events = queue.waiting;
      queue.waiting = [];
      for (const event of events) {
        queue.since = monotonic();
        try {
          const envelope = await retries.retry(() =>
            envelopes.prepare(event).catch((error: unknown) => {
              queue.failure = error;
              throw error;
            }),
          );
          if (signal.aborted) return;
          if (envelope !== undefined) send(event, envelope);
        } catch (error) {
          if (error instanceof Interrupted || signal.aborted) return;
          logger.error({ err: error, event_id: event.id }, 'an envelope could not be built');
          onFailed(event);
        }
        this.#hold(queue, -weightOf(event));
      }
    }
    queue.isRunning = false;
  }

  #hold(queue: TenantQueue, weight: number): void {
    queue.held += weight;
    this.#held += weight;
  }

  #giveUpFullest(): void {
    let fullest: [string, TenantQueue] | undefined;
    for (const entry of this.#queues) {
      if (fullest === undefined || entry[1].held > fullest[1].held) fullest = entry;
    }
    if (fullest !== undefined) this.#giveUp(...fullest);
  }

  #giveUp(tenantId: string, queue: TenantQueue): void {
    this.deps.logger.warn(
      { err: queue.failure, tenant_id: tenantId },
      'envelopes of a tenant could not be sent in time; its sockets are closed and resume by position',
    );
    this.end(tenantId);
    this.deps.onGivenUp(tenantId);
  }
}

const newQueue = (): TenantQueue => ({
  ended: new AbortController(),
  waiting: [],
  isRunning: false,
  held: 0,
  since: 0,
  failure: undefined,
});

const weightOf = (event: LoggedEvent): number => EVENT_BYTES + (dataOf(MessageSent, event)?.body.length ?? 0);
