import { ProjectionRetryRequested } from '../../../domain/operations/operations.ts';
import type { Clock } from '../../ports/clock.ts';
import type { Position, StoredEvent } from '../../ports/event-store.ts';
import type { Logger } from '../../ports/logger.ts';
import type { ProjectionMetrics } from '../../ports/metrics.ts';
import { abortOf } from '../concurrency/abort.ts';
import { retryConfig, STORE_AWAY } from '../concurrency/retry-policy.ts';
import { dataOf, type EventCodec } from '../events/event-codec.ts';
import { occurredAt } from '../events/metadata-texts.ts';
import { nextTick, timer } from '../runtime/timers.ts';
import {
  audit,
  type BehaviorSubject,
  concatMap,
  defer,
  filter,
  firstValueFrom,
  lastValueFrom,
  merge,
  type Observable,
  retry,
  Subject,
  takeWhile,
} from '../rxjs.ts';
import type { EventBatch, LogFollower } from '../subscriptions/log-follower.ts';
import { WithDeps } from '../with-deps.ts';
import type { Generation } from './generation.ts';
import type { WaitingReaders } from './waiting-readers.ts';

export interface GenerationFollowerDeps {
  readonly follower: LogFollower;
  readonly codec: EventCodec;
  readonly metrics: ProjectionMetrics;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Wait (ms) at the end of the log before the next batch, so that batches are few. A waiting reader ends the wait. */
  readonly lingerMs: number;
  /** Checkpoints without documents are stored, for other nodes, at most once in this time (default 25 ms). */
  readonly saveMs?: number | undefined;
  /** Readers of any projection that wait in this thread. */
  readonly waitingReaders: WaitingReaders;
}

/** Facts and callbacks that the runner gives to a generation's follower. */
interface Watch {
  /** Number of readers that wait for this projection. */
  readonly waiting: BehaviorSubject<number>;
  /** Called after each stored batch, and when the checkpoint moves without a batch. */
  readonly onProgress: () => void;
  /** Whether this generation is known to answer reads. */
  readonly isActive: () => boolean;
  /** Called at the end of the log; true when another generation has replaced this one. */
  readonly isReplaced: () => Promise<boolean>;
}

const SAVE_MS = 25;
const BATCH = 1000;
/** Events per batch while a reader waits. */
const AWAITED_BATCH = 100;

/** Folds the log into one generation, batch by batch, until aborted or replaced. */
export class GenerationFollower extends WithDeps<
  GenerationFollowerDeps & Watch & { readonly generation: Generation }
> {
  #isReplaced = false;

  async run(signal: AbortSignal): Promise<void> {
    const { follower, saveMs = SAVE_MS } = this.deps;
    const { projection, checkpoint } = this.deps.generation;
    const passed = new Subject<void>();
    const saving = passed
      .pipe(
        audit(() => timer(saveMs)),
        concatMap(() => this.#saved()),
      )
      .subscribe();
    const filtered = { types: [...projection.types, ProjectionRetryRequested.type] };
    const onPassed = (position: Position): boolean => {
      // Other generations need a batch at each end of the log, to check whether they take over or are replaced.
      if (!this.deps.isActive()) return false;
      this.#advance(position);
      passed.next();
      return true;
    };
    const batches = follower.follow(
      { after: checkpoint, filter: filtered, batchSize: BATCH, onPassed, signal },
      async (batch) => {
        await this.#handle(batch, signal);
        if (batch.events.length === 0) passed.next();
      },
    );
    try {
      await lastValueFrom(batches.pipe(takeWhile(() => !this.#isReplaced)), { defaultValue: undefined });
    } finally {
      saving.unsubscribe();
    }
  }

  /**
   * Retries until the checkpoint is stored: readers in other processes wait for it, and perhaps no later event triggers
   * another save.
   */
  #saved(): Observable<void> {
    const save = async (): Promise<void> => {
      if (!this.deps.generation.isStored) await this.deps.generation.save();
    };
    return defer(save).pipe(retry(retryConfig(STORE_AWAY)));
  }

  async #handle(batch: EventBatch, signal: AbortSignal): Promise<void> {
    const matched = batch.events.length > 0;
    if (matched) {
      // Retries before the checkpoint passes the requests, so that a retry cut off by a failure is repeated.
      await this.#retryRequested(batch.events);
      await this.#apply(batch);
      this.deps.onProgress();
    } else this.#advance(batch.position);
    this.#reportLag(batch);
    if (!batch.caughtUp) return;
    this.#isReplaced = await this.deps.isReplaced();
    if (matched && !this.#isReplaced) await this.#linger(signal);
  }

  /** Moves the checkpoint in memory when there are no events to fold; it is stored later. */
  #advance(position: Position): void {
    this.deps.generation.checkpoint = position;
    this.deps.onProgress();
  }

  /** Folds in small parts while readers wait. */
  async #apply({ events, position }: EventBatch): Promise<void> {
    let from = 0;
    while (
      (this.deps.waiting.value > 0 || this.deps.waitingReaders.isOn) &&
      events.length - from > AWAITED_BATCH
    ) {
      const part = events.slice(from, from + AWAITED_BATCH);
      const last = part.at(-1);
      if (last === undefined) break;
      await this.deps.generation.apply(part, last.position);
      this.deps.onProgress();
      from += AWAITED_BATCH;
      // Yields, so that progress is delivered and new waiting readers are counted.
      await nextTick();
    }
    await this.deps.generation.apply(from === 0 ? events : events.slice(from), position);
  }

  async #retryRequested(events: readonly StoredEvent[]): Promise<void> {
    for (const stored of events) {
      if (stored.type !== ProjectionRetryRequested.type) continue;
      const request = this.#retryOf(stored);
      if (request?.projection === this.deps.generation.projection.name) {
        await this.deps.generation.retry(request.tenant_id);
      }
    }
  }

  /** Skips and logs a request that cannot be read: it must not stop all projections. */
  #retryOf(stored: StoredEvent) {
    try {
      return dataOf(ProjectionRetryRequested, this.deps.codec.decode(stored));
    } catch (error) {
      this.deps.logger.error({ err: error }, 'a request to retry a projection cannot be read');
      return undefined;
    }
  }

  #reportLag({ events, caughtUp }: EventBatch): void {
    const last = events.at(-1);
    const at = last === undefined ? undefined : occurredAt(last);
    const behind = caughtUp || at === undefined ? 0 : this.deps.clock.now() - at;
    this.deps.metrics.projectionLag(this.deps.generation.projection.name, behind / 1000);
  }

  /** Waits until `lingerMs` have passed, a reader waits, or `signal` aborts. */
  async #linger(signal: AbortSignal): Promise<void> {
    const awaited = this.deps.waiting.pipe(filter((readers) => readers > 0));
    await firstValueFrom(merge(timer(this.deps.lingerMs), awaited, abortOf(signal)));
  }
}
