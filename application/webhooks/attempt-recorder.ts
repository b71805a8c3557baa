import {
  type Delivery,
  deliveryStream,
  type RecordAttempt,
  recordAttempt,
} from '../../domain/webhooks/delivery.ts';
import type { StreamCommand } from '../core/commands/command.ts';
import type { StreamState } from '../core/commands/stream-states.ts';
import type { Streams } from '../core/commands/streams.ts';
import { isUnavailable } from '../core/concurrency/retry-policy.ts';
import type { Cause } from '../core/events/event-codec.ts';
import { clearTimeout, setImmediate, setTimeout, type Timer } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Position } from '../ports/event-store.ts';
import type { Logger } from '../ports/logger.ts';

export interface RecorderDeps {
  readonly streams: Streams;
  readonly logger: Logger;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** A finished attempt, and the delivery's state when it began. */
export interface DoneAttempt {
  readonly tenantId: string;
  readonly deliveryId: string;
  readonly head: StreamState<Delivery>;
  readonly record: RecordAttempt;
  readonly cause: Cause;
}

interface Waiting {
  readonly done: DoneAttempt;
  readonly tries: number;
  readonly resolve: (position: Position | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** A batch of this size is written at once. */
const FULL = 192;
/** After a batch of this size the next one waits for further attempts. */
const BUSY = 8;
/** Longest wait (ms) of a batch. */
const LINGER_MS = 20;
const TRIES = 6;

/**
 * Records outcomes of attempts in batches (decision 21). Each is decided on the state its attempt began with; for a
 * delivery changed since, `executeAll` decides it again on the new state.
 */
export class AttemptRecorder extends WithDeps<RecorderDeps> {
  #waiting: Waiting[] = [];
  #lastSize = 0;
  #timer: Timer | undefined;
  #isDue = false;

  /**
   * @returns the position of the delivery's last event
   * @throws {StoreUnavailable}, `unavailable` after a few tries
   */
  record(done: DoneAttempt, urgency: 'soon' | 'with others'): Promise<Position | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ done, tries: 1, resolve, reject });
      if (urgency === 'soon' || this.#lastSize < BUSY || this.#waiting.length >= FULL) this.hurry();
      else this.#timer ??= setTimeout(this.#flush, LINGER_MS);
    });
  }

  /** Writes all waiting attempts at the end of this tick. */
  hurry(): void {
    if (this.#waiting.length === 0 || this.#isDue) return;
    this.#isDue = true;
    setImmediate(this.#flush);
  }

  readonly #flush = (): void => {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isDue = false;
    if (this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#lastSize = batch.length;
    const byTenant = Map.groupBy(batch, ({ done }) => done.tenantId);
    for (const [tenantId, waiting] of byTenant) void this.#write(tenantId, waiting);
  };

  /** Never rejects. */
  async #write(tenantId: string, batch: readonly Waiting[]): Promise<void> {
    const commands = batch.map(({ done, tries }) => commandOf(done, tries));
    const options = { uncached: true };
    const settled = await this.deps.streams
      .executeAll(deliveryStream, tenantId, commands, options)
      .catch((reason: unknown) => batch.map(() => ({ status: 'rejected' as const, reason })));
    for (const [at, waiting] of batch.entries()) {
      const outcome = settled[at];
      if (outcome?.status === 'fulfilled') waiting.resolve(outcome.value.position);
      else void this.#again(waiting, outcome?.reason);
    }
  }

  /** Retries: a delivery without a record would be sent again. */
  async #again(waiting: Waiting, error: unknown): Promise<void> {
    const { done, tries, reject } = waiting;
    if (!isUnavailable(error) || tries >= TRIES) return reject(error);
    const { logger, sleep } = this.deps;
    logger.warn({ err: error, delivery_id: done.deliveryId }, 'an attempt could not be recorded yet');
    await sleep(50 * 2 ** tries, NEVER);
    this.#waiting.push({ ...waiting, tries: tries + 1 });
    this.hurry();
  }
}

const NEVER = new AbortController().signal;

const commandOf = ({ deliveryId, head, record, cause }: DoneAttempt, tries: number): Command => ({
  id: deliveryId,
  context: { cause },
  // An earlier try may have been stored although its answer was lost.
  loaded: tries === 1 ? head : undefined,
  decide: (state, at) => recordAttempt(state, record, at),
});

type Command = StreamCommand<Delivery, ReturnType<typeof recordAttempt>[number]>;
