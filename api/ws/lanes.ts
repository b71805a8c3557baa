import { Interrupted, RetryPolicy } from '../../application/core/concurrency/retry-policy.ts';
import { dataOf, type LoggedEvent } from '../../application/core/events/event-codec.ts';
import type { Envelope, Envelopes } from '../../application/messaging/envelopes.ts';
import type { Logger } from '../../application/ports/logger.ts';
import { MessageSent } from '../../domain/messaging/conversation.ts';

export interface LanesDeps {
  readonly envelopes: Pick<Envelopes, 'prepare'>;
  readonly logger: Logger;
  /** Monotonic milliseconds. */
  readonly monotonic: () => number;
  /** Sends an envelope in the tick of the call. */
  readonly send: (event: LoggedEvent, envelope: Envelope) => void;
  /** Called when no envelope can be built of the event, now or later. */
  readonly unmade: (event: LoggedEvent) => void;
  /** Called when a tenant's events are dropped: its sockets must reconnect by position. */
  readonly givenUp: (tenantId: string) => void;
}

/** Maximum wait (ms) of one envelope for a store. */
export const STUCK_MS = 10_000;
/** Approximate size of all waiting events. */
const MAX_HELD_BYTES = 16 * 1024 * 1024;
const OF_EVENT = 1024;

interface TenantLane {
  readonly ended: AbortController;
  waiting: LoggedEvent[];
  isRunning: boolean;
  held: number;
  /** When work on the first event began. */
  since: number;
  /** The last error of the store. */
  failure: unknown;
}

/**
 * Turns live events into envelopes, in one queue per tenant: in order, one at a time, with retries while a store is
 * unavailable. Queues do not wait for each other.
 */
export class Lanes {
  readonly #deps: LanesDeps;
  readonly #lanes = new Map<string, TenantLane>();
  #held = 0;

  constructor(deps: LanesDeps) {
    this.#deps = deps;
  }

  add(event: LoggedEvent): void {
    const lane = this.#lanes.get(event.tenantId) ?? newLane();
    this.#lanes.set(event.tenantId, lane);
    lane.waiting.push(event);
    this.#hold(lane, weightOf(event));
    if (!lane.isRunning) void this.#run(lane);
    if (this.#held > MAX_HELD_BYTES) this.#giveUpFullest();
  }

  /** Drops a tenant's events, since no recipient is connected. */
  end(tenantId: string): void {
    const lane = this.#lanes.get(tenantId);
    if (lane === undefined) return;
    this.#lanes.delete(tenantId);
    lane.ended.abort();
    lane.waiting = [];
    this.#hold(lane, -lane.held);
  }

  /** Drops the queues whose first event has waited too long. Call it periodically. */
  check(): void {
    const now = this.#deps.monotonic();
    for (const [tenantId, lane] of this.#lanes) {
      if (lane.isRunning && now - lane.since > STUCK_MS) this.#giveUp(tenantId, lane);
    }
  }

  async #run(lane: TenantLane): Promise<void> {
    const { envelopes, logger, monotonic, send, unmade } = this.#deps;
    const { signal } = lane.ended;
    const patience = new RetryPolicy(
      { clock: { now: monotonic }, limitMs: Number.POSITIVE_INFINITY },
      signal,
    );
    lane.isRunning = true;
    while (lane.waiting.length > 0) {
      const events = lane.waiting;
      lane.waiting = [];
      for (const event of events) {
        lane.since = monotonic();
        try {
          const envelope = await patience.with(() =>
            envelopes.prepare(event).catch((error: unknown) => {
              lane.failure = error;
              throw error;
            }),
          );
          if (signal.aborted) return;
          if (envelope !== undefined) send(event, envelope);
        } catch (error) {
          if (error instanceof Interrupted || signal.aborted) return;
          logger.error({ err: error, event_id: event.id }, 'an envelope could not be made');
          unmade(event);
        }
        this.#hold(lane, -weightOf(event));
      }
    }
    lane.isRunning = false;
  }

  #hold(lane: TenantLane, weight: number): void {
    lane.held += weight;
    this.#held += weight;
  }

  #giveUpFullest(): void {
    let fullest: [string, TenantLane] | undefined;
    for (const entry of this.#lanes) {
      if (fullest === undefined || entry[1].held > fullest[1].held) fullest = entry;
    }
    if (fullest !== undefined) this.#giveUp(...fullest);
  }

  #giveUp(tenantId: string, lane: TenantLane): void {
    this.#deps.logger.warn(
      { err: lane.failure, tenant_id: tenantId },
      'envelopes of a tenant could not be sent in time; its sockets are closed and resume by position',
    );
    this.end(tenantId);
    this.#deps.givenUp(tenantId);
  }
}

const newLane = (): TenantLane => ({
  ended: new AbortController(),
  waiting: [],
  isRunning: false,
  held: 0,
  since: 0,
  failure: undefined,
});

const weightOf = (event: LoggedEvent): number => OF_EVENT + (dataOf(MessageSent, event)?.body.length ?? 0);
