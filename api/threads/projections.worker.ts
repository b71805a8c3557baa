import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { withCoalescedCalls } from '../../application/core/concurrency/coalesced-calls.ts';
import { EventCodec } from '../../application/core/events/event-codec.ts';
import { CacheBudget } from '../../application/core/memory/bounded-cache.ts';
import { ProjectionRunner } from '../../application/core/projections/projection-runner.ts';
import { WaitingReaders } from '../../application/core/projections/waiting-readers.ts';
import { LogFollower } from '../../application/core/subscriptions/log-follower.ts';
import type { GrowthListener } from '../../application/ports/event-store.ts';
import { MEMORY } from '../../application/ports/memory.ts';
import type { ProjectionMetrics } from '../../application/ports/metrics.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { Growth } from '../../infrastructure/event-store/growth.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { releaseWhenIdle } from '../../infrastructure/idle-memory.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { openEvents, openReads } from '../../infrastructure/stores.ts';
import { projections } from '../../projections/all.ts';
import { startTracing } from '../tracing.ts';
import { ProgressReports } from './progress-reports.ts';
import type { FromProjections, ProjectionMetric, ThreadData, ToProjections } from './projections.ts';

/**
 * Folds projections in a thread with its own connections, so that folding does not block requests. Projections never
 * open sealed texts, so the thread has no key ring.
 */
const run = async (): Promise<void> => {
  if (isMainThread || parentPort === null) throw new Error('this file is a worker thread');
  const port = parentPort;
  // Not validated: `startProjections` of the same release made the data.
  const { config, lease } = workerData as ThreadData;
  const logger = createLogger(config.LOG_LEVEL);
  const stopTracing = await startTracing(config, logger);
  const post = (message: FromProjections): void => port.postMessage(message);
  const events = await openEvents(config, logger);
  const reads = withCoalescedCalls(await openReads(config));
  const progress = new ProgressReports((made) => post({ kind: 'progress', made }));
  releaseWhenIdle();
  const stopping = new AbortController();
  // Shared, so that an event that several projections fold is decoded once.
  const codec = new EventCodec(catalogue);
  const budget = new CacheBudget(MEMORY.documents);
  const waitingReaders = new WaitingReaders();
  // A remote store sends each event to this process once, to the main thread, which passes it on.
  const relay = new Growth();
  const isRemote = config.EVENTSTORE_URL !== undefined;
  const source = isRemote
    ? { ...events, onGrowth: (listener: GrowthListener) => relay.subscribe(listener) }
    : events;
  const follower = new LogFollower({ events: source, logger });
  const pageAfter = follower.pagesFor(stopping.signal);
  // Pages for the main thread are read once the projections fold, because the projections need the same pages.
  const folding = Promise.withResolvers<void>();
  setTimeout(folding.resolve, UNTIL_FOLDING_MS).unref();
  const runners = new Map(
    projections.map((projection) => [
      projection.name,
      new ProjectionRunner(projection, {
        waitingReaders,
        ...lease,
        logger,
        store: reads,
        events,
        follower,
        codec,
        budget,
        metrics: metricsBy(post),
        clock: systemClock,
        // The main thread gets progress by message; the store's copy only serves other processes.
        saveMs: lease.saveMs ?? 250,
        onProgress: (made) => {
          folding.resolve();
          progress.note({ projection: projection.name, ...made, parked: [...made.parked] });
        },
        onEnd: (tag) => {
          progress.flush();
          post({ kind: 'ended', projection: projection.name, tag });
        },
      }),
    ]),
  );
  port.on('message', (message: ToProjections) => {
    switch (message.kind) {
      case 'appended':
        if (message.growths.length === 0) relay.notify();
        for (const growth of message.growths) relay.notify(growth);
        return events.wake?.();
      case 'read': {
        const { id, after = '' } = message;
        void folding.promise
          .then(() => pageAfter(after))
          .then((page) => page && post({ kind: 'page', id, page }));
        return;
      }
      case 'reader':
        events.wake?.();
        progress.setReader(message.projection, message.isWaiting);
        return runners.get(message.projection)?.countReader(message.isWaiting);
      case 'stop':
        return stopping.abort();
      default:
        return message satisfies never;
    }
  });
  await Promise.all([...runners.values()].map((runner) => runner.run(stopping.signal)));
  await events.close();
  await reads.close();
  await stopTracing();
  port.close();
};

/** Maximum wait (ms) until a projection folds: another process may hold the leases of all projections. */
const UNTIL_FOLDING_MS = 1000;
const METRICS_MS = 250;

/** Batches metrics, because each message costs both threads as much as a read. */
const metricsBy = (post: (message: FromProjections) => void): ProjectionMetrics => {
  let metrics: ProjectionMetric[] = [];
  const lags = new Map<string, number>();
  const note = (metric: ProjectionMetric): void => {
    metrics.push(metric);
    if (metrics.length > 1) return;
    setTimeout(() => {
      post({ kind: 'metrics', metrics });
      metrics = [];
    }, METRICS_MS).unref();
  };
  return {
    eventsProjected: (projection, count, seconds) => note({ name: 'projected', projection, count, seconds }),
    projectionLag: (projection, seconds) => {
      if (lags.get(projection) === seconds) return;
      lags.set(projection, seconds);
      note({ name: 'lag', projection, seconds });
    },
    parkedTenants: (projection, count) => note({ name: 'parked', projection, count }),
  };
};

await run();
