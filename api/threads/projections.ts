import type { FoldingProjection } from '../../application/core/projections/reader.ts';
import type { LogPage } from '../../application/core/subscriptions/log-follower.ts';
import type { Place } from '../../application/core/subscriptions/page-buffer.ts';
import {
  type EventStore,
  type GrowthListener,
  type LogGrowth,
  type Position,
  StoreUnavailable,
} from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import type { ProjectionMetrics } from '../../application/ports/metrics.ts';
import type { Config } from '../../infrastructure/config.ts';
import { startThread } from '../../infrastructure/threads.ts';
import { projections } from '../../projections/all.ts';

export interface ThreadData {
  readonly config: Config;
  readonly lease: {
    readonly owner: string;
    readonly ttlMs: number;
    readonly lingerMs: number;
    /** Interval (ms) at which checkpoints without documents are stored; default 250. */
    readonly saveMs?: number;
  };
}

/** Messages between the main thread and the projections' thread of the same release, so they are not validated. */
export type ToProjections =
  /** The log has grown. `growths` has new events of a remote log; the thread itself reads those of an embedded log. */
  | { readonly kind: 'appended'; readonly growths: readonly LogGrowth[] }
  /** Requests the page of the log after a position, or the first page. */
  | { readonly kind: 'read'; readonly id: number; readonly after?: Position }
  /** Whether a reader waits for a projection. */
  | { readonly kind: 'reader'; readonly projection: string; readonly isWaiting: boolean }
  | { readonly kind: 'stop' };

export type ProjectionMetric =
  | {
      readonly name: 'projected';
      readonly projection: string;
      readonly count: number;
      readonly seconds: number;
    }
  | { readonly name: 'lag'; readonly projection: string; readonly seconds: number }
  | { readonly name: 'parked'; readonly projection: string; readonly count: number };

/** A generation has folded and stored up to `checkpoint`. */
export interface ProjectionProgress {
  readonly projection: string;
  readonly tag: string;
  readonly checkpoint?: string | undefined;
  readonly parked: readonly string[];
}

export type FromProjections =
  | { readonly kind: 'progress'; readonly made: readonly ProjectionProgress[] }
  /** The projections' thread has stopped folding a generation. */
  | { readonly kind: 'ended'; readonly projection: string; readonly tag: string }
  /** The answer to `read`. */
  | { readonly kind: 'page'; readonly id: number; readonly page: LogPage }
  | { readonly kind: 'metrics'; readonly metrics: readonly ProjectionMetric[] };

interface ProjectionThread {
  /** The projections as the main thread sees them. */
  readonly folding: readonly FoldingProjection[];
  /** Announces that the log has grown, with the new events if given. */
  readonly appended: GrowthListener;
  /** Reads the page of the log after a place; the thread's projections share the page. @throws {StoreUnavailable} */
  readPage(after: Place): Promise<LogPage>;
  stop(): Promise<void>;
}

const THREAD_AWAY = 'The projections’ thread, which reads the log, has ended.';
const RESTART_MS = 500;
/** Young generation (MB) of the thread's heap: saves memory and costs no processor time (decision 44). */
const YOUNG_MB = 12;
/** Time (ms) that `appended` messages wait for more, or for a reader: waking a thread costs as much as a request. */
const BATCH_MS = 10;

/** The part of `Worker` that {@link startProjections} uses. */
interface ProjectionWorker {
  on(event: 'message', listener: (message: FromProjections) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  once(event: 'exit', listener: () => void): unknown;
  postMessage(message: ToProjections): void;
}

const workerOf = (data: ThreadData): ProjectionWorker =>
  startThread('projections', new URL('./projections.worker.ts', import.meta.url), {
    workerData: data,
    resourceLimits: { maxYoungGenerationSizeMb: YOUNG_MB },
  });

/** Folds all projections in a worker thread, and restarts it if it ends. */
export const startProjections = (
  data: ThreadData,
  deps: {
    readonly logger: Logger;
    readonly metrics: ProjectionMetrics;
    readonly parsePosition: EventStore['parsePosition'];
    /** Default: a worker thread that runs `projections.worker.ts`. */
    readonly startWorker?: () => ProjectionWorker;
  },
): ProjectionThread => {
  const { startWorker = () => workerOf(data) } = deps;
  const seen = new Map(
    projections.map(({ name }) => [
      name,
      new SeenProjection(name, (message) => {
        // A reader that waits needs the newest events.
        if (message.kind === 'reader' && message.isWaiting && pending !== undefined) flush();
        post(message);
      }),
    ]),
  );
  let worker: ProjectionWorker | undefined;
  let stopping = false;
  let growths: LogGrowth[] = [];
  let pending: NodeJS.Timeout | undefined;
  let ended: Promise<void> = Promise.resolve();
  let restart: NodeJS.Timeout | undefined;
  const reads = new Map<number, PromiseWithResolvers<LogPage>>();
  let lastRead = 0;

  const post = (message: ToProjections): void => worker?.postMessage(message);
  const flush = (): void => {
    clearTimeout(pending);
    pending = undefined;
    post({ kind: 'appended', growths });
    growths = [];
  };
  const take = (message: FromProjections): void => {
    switch (message.kind) {
      case 'progress': {
        for (const { projection, tag, checkpoint, parked } of message.made) {
          const position = checkpoint === undefined ? undefined : deps.parsePosition(checkpoint);
          seen.get(projection)?.progressed(tag, position, parked);
        }
        return;
      }
      case 'ended':
        seen.get(message.projection)?.ended(message.tag);
        return;
      case 'page':
        reads.get(message.id)?.resolve(message.page);
        reads.delete(message.id);
        return;
      case 'metrics':
        for (const metric of message.metrics) count(deps.metrics, metric);
        return;
      default:
        message satisfies never;
    }
  };
  const start = (): void => {
    const thread = startWorker();
    worker = thread;
    thread.on('message', take);
    thread.on('error', (error) => deps.logger.error({ err: error }, 'the projection thread failed'));
    ended = new Promise((resolve) => {
      thread.once('exit', () => {
        worker = undefined;
        for (const projection of seen.values()) projection.lost();
        for (const { reject } of reads.values()) reject(new StoreUnavailable(THREAD_AWAY));
        reads.clear();
        resolve();
        if (!stopping) restart = setTimeout(start, RESTART_MS);
      });
    });
    for (const projection of seen.values()) projection.started();
  };
  start();

  return {
    folding: [...seen.values()],
    appended: (growth) => {
      if (growth !== undefined) growths.push(growth);
      pending ??= setTimeout(flush, BATCH_MS);
    },
    readPage: (after) => {
      if (worker === undefined) return Promise.reject(new StoreUnavailable(THREAD_AWAY));
      const reading = Promise.withResolvers<LogPage>();
      lastRead += 1;
      reads.set(lastRead, reading);
      post({ kind: 'read', id: lastRead, ...(after === '' ? {} : { after }) });
      return reading.promise;
    },
    stop: async () => {
      stopping = true;
      clearTimeout(pending);
      clearTimeout(restart);
      post({ kind: 'stop' });
      await ended;
    },
  };
};

/** State of a projection folded by the thread, as the main thread knows it. */
class SeenProjection implements FoldingProjection {
  readonly name: string;
  readonly #post: (message: ToProjections) => void;
  readonly #generations = new Map<
    string,
    { checkpoint: Position | undefined; parked: ReadonlySet<string> }
  >();
  readonly #listeners = new Set<() => void>();

  constructor(name: string, post: (message: ToProjections) => void) {
    this.name = name;
    this.#post = post;
  }

  folds(tag: string): boolean {
    return this.#generations.has(tag);
  }

  localCheckpoint(tag: string): Position | undefined {
    return this.#generations.get(tag)?.checkpoint;
  }

  isParked(tag: string, tenantId: string): boolean {
    return this.#generations.get(tag)?.parked.has(tenantId) ?? false;
  }

  nextProgress(ms: number): Promise<void> {
    if (this.#listeners.size === 0) this.#post({ kind: 'reader', projection: this.name, isWaiting: true });
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#listeners.delete(done);
        if (this.#listeners.size === 0) {
          this.#post({ kind: 'reader', projection: this.name, isWaiting: false });
        }
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#listeners.add(done);
    });
  }

  progressed(tag: string, checkpoint: Position | undefined, parked: readonly string[]): void {
    this.#generations.set(tag, { checkpoint, parked: new Set(parked) });
    for (const listener of [...this.#listeners]) listener();
  }

  ended(tag: string): void {
    this.#generations.delete(tag);
  }

  lost(): void {
    this.#generations.clear();
  }

  /** Announces the readers that wait already: a new thread counts waiting readers from 0. */
  started(): void {
    if (this.#listeners.size > 0) this.#post({ kind: 'reader', projection: this.name, isWaiting: true });
  }
}

const count = (metrics: ProjectionMetrics, metric: ProjectionMetric): void => {
  switch (metric.name) {
    case 'projected':
      metrics.eventsProjected(metric.projection, metric.count, metric.seconds);
      break;
    case 'lag':
      metrics.projectionLag(metric.projection, metric.seconds);
      break;
    case 'parked':
      metrics.parkedTenants(metric.projection, metric.count);
      break;
    default:
      metric satisfies never;
  }
};
