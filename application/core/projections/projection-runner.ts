import type { Projection } from '../../../domain/core/projection.ts';
import type { Position } from '../../ports/event-store.ts';
import type { GenerationId, ParkedTenant } from '../../ports/read-store.ts';
import { abortOf } from '../concurrency/abort.ts';
import { timer } from '../runtime/timers.ts';
import {
  BehaviorSubject,
  concatMap,
  exhaustMap,
  filter,
  finalize,
  firstValueFrom,
  lastValueFrom,
  merge,
  mergeMap,
  Subject,
  takeUntil,
} from '../rxjs.ts';
import { holdLease } from '../subscriptions/lease.ts';
import { Generation, type GenerationDeps } from './generation.ts';
import { GenerationFollower, type GenerationFollowerDeps } from './generation-follower.ts';
import type { FoldingProjection } from './reader.ts';
import { isSameVersion, Takeover, type TakeoverDeps } from './takeover.ts';

export interface RunnerOptions extends GenerationDeps, GenerationFollowerDeps, TakeoverDeps {
  /** Called when a generation folded here starts, stores a batch, or moves its checkpoint without a batch. */
  readonly onProgress?: (progress: GenerationProgress) => void;
  /** Interval of reading the generations from the store; default one second. */
  readonly lookMs?: number | undefined;
  /** Interval of cleaning up former generations; default one minute. */
  readonly cleanMs?: number;
  /** Called when this process stops folding a generation. */
  readonly onEnd?: (tag: string) => void;
}

export interface GenerationProgress {
  readonly tag: string;
  readonly checkpoint: Position | undefined;
  readonly parked: string[];
}

/** State of one generation for operators: `GET /super/projections`. */
export interface ProjectionStatus {
  readonly name: string;
  readonly generation: string;
  readonly state: 'active' | 'building';
  readonly checkpoint: Position | undefined;
  readonly parked: readonly ParkedTenant[];
}

/** Interval (ms) of reading the generations from the store. */
const LOOK_MS = 1000;
const CLEAN_MS = 60_000;

/**
 * Runs a projection: its active generation, and a new generation beside it after a version change or a requested
 * rebuild. The new generation becomes active once it has caught up; until then the former one answers reads.
 */
export class ProjectionRunner implements FoldingProjection {
  readonly projection: Projection;
  readonly #options: RunnerOptions;
  readonly #takeover: Takeover;
  /** Generations folded in this process, by tag. */
  readonly #generations = new Map<string, Generation>();
  readonly #progress = new Subject<void>();
  /** Number of waiting readers. */
  readonly #waiting = new BehaviorSubject(0);

  constructor(projection: Projection, options: RunnerOptions) {
    this.projection = projection;
    this.#options = options;
    this.#takeover = new Takeover({ ...options, projection });
  }

  get name(): string {
    return this.projection.name;
  }

  async run(signal: AbortSignal): Promise<void> {
    const running = new Set<string>();
    const { cleanMs = CLEAN_MS, lookMs = LOOK_MS } = this.#options;
    const generations = timer(0, lookMs).pipe(
      takeUntil(abortOf(signal)),
      exhaustMap(() => this.#takeover.wanted().catch(this.#warn('generations could not be read'))),
      concatMap((tags) => tags ?? []),
      filter((tag) => !running.has(tag)),
      mergeMap((tag) => {
        running.add(tag);
        return this.#runGeneration(tag, signal).finally(() => running.delete(tag));
      }),
    );
    const cleaning = timer(cleanMs, cleanMs).pipe(
      takeUntil(abortOf(signal)),
      exhaustMap(() => this.#takeover.clean().catch(this.#warn('former generations could not be dropped'))),
    );
    await lastValueFrom(merge(generations, cleaning), { defaultValue: undefined });
  }

  /** The checkpoint of a generation folded in this process; undefined when another process folds it. */
  localCheckpoint(tag: string): Position | undefined {
    return this.#generations.get(tag)?.checkpoint;
  }

  folds(tag: string): boolean {
    return this.#generations.has(tag);
  }

  /** Resolves at the next progress of any generation, or after `ms`; until then, batches are folded at once. */
  async nextProgress(ms: number): Promise<void> {
    this.countReader(true);
    const next = merge(this.#progress, timer(ms)).pipe(finalize(() => this.countReader(false)));
    await firstValueFrom(next);
  }

  /** Adds or removes a waiting reader; while any reader waits, batches are folded at once. */
  countReader(isWaiting: boolean): void {
    if (isWaiting) this.#options.waitingReaders.note();
    this.#waiting.next(this.#waiting.value + (isWaiting ? 1 : -1));
  }

  isParked(tag: string, tenantId: string): boolean {
    return this.#generations.get(tag)?.isParked(tenantId) ?? false;
  }

  /**
   * Starts a rebuild beside the active generation, unless one is running. @returns the tag of the new generation
   * @throws `conflict` on a node of an older build
   */
  rebuild(): Promise<string> {
    return this.#takeover.rebuild();
  }

  async status(): Promise<ProjectionStatus[]> {
    const { store } = this.#options;
    const { active, building } = await store.activeGeneration(this.name);
    const tags = [active, building].filter((tag) => tag !== undefined);
    return Promise.all(
      tags.map(async (tag) => {
        const state = await store.state(this.#idOf(tag));
        return {
          name: this.name,
          generation: tag,
          state: tag === active ? ('active' as const) : ('building' as const),
          checkpoint: this.localCheckpoint(tag) ?? state.checkpoint,
          parked: state.parked,
        };
      }),
    );
  }

  #idOf(tag: string): GenerationId {
    return { projection: this.name, tag };
  }

  /** For `catch`: logs the error instead of ending the runner. */
  #warn(message: string): (error: unknown) => void {
    return (error) => this.#options.logger.warn({ err: error, projection: this.name }, message);
  }

  async #runGeneration(tag: string, signal: AbortSignal): Promise<void> {
    const generation = new Generation(this.projection, this.#idOf(tag), this.#options);
    const retired = new AbortController();
    const ended = AbortSignal.any([signal, retired.signal]);
    const onProgress = (): void => {
      const { checkpoint, parkedTenants } = generation;
      this.#options.onProgress?.({ tag, checkpoint, parked: parkedTenants });
      this.#progress.next();
    };
    let isPrepared = false;
    await holdLease(generation.leaseName, this.#options, ended, async (lease, held) => {
      await generation.begin(lease);
      // Prepared once, and again if the generation has no checkpoint: another process may have dropped the generation.
      if (!isPrepared || generation.checkpoint === undefined) {
        await this.#options.store.prepare(generation.generation, this.projection.collections);
        isPrepared = true;
      }
      this.#generations.set(tag, generation);
      onProgress();
      const following = new GenerationFollower({
        ...this.#options,
        generation,
        waiting: this.#waiting,
        onProgress,
        isActive: () => this.#takeover.isActive(tag),
        isReplaced: async () => {
          const isReplaced = await this.#isReplaced(tag, held);
          if (isReplaced) retired.abort();
          return isReplaced;
        },
      });
      try {
        await following.run(held);
      } finally {
        this.#generations.delete(tag);
        this.#options.onEnd?.(tag);
      }
    });
    if (retired.signal.aborted) await this.#takeover.retire(this.#idOf(tag), signal);
  }

  async #isReplaced(tag: string, signal: AbortSignal): Promise<boolean> {
    const { state, former } = await this.#takeover.caughtUp(tag);
    // No follower of this process folds the former generation, so none of them will retire it.
    if (former !== undefined && isSameVersion(former, tag) && !this.folds(former)) {
      void this.#takeover.retire(this.#idOf(former), signal);
    }
    return state === 'replaced';
  }
}
