import type { Server } from 'node:http';
import { type StoreWait, waitForStores } from '../application/core/concurrency/store-wait.ts';
import { CacheBudget } from '../application/core/memory/bounded-cache.ts';
import { sealedAnswers } from '../application/core/privacy/sealed-answers.ts';
import { FoldLag } from '../application/core/projections/fold-lag.ts';
import { Freshness } from '../application/core/projections/freshness.ts';
import { ProjectionRunner } from '../application/core/projections/projection-runner.ts';
import { WaitingReaders } from '../application/core/projections/waiting-readers.ts';
import { WorkerWatch } from '../application/core/projections/worker-watch.ts';
import { randomUUID } from '../application/core/runtime/random.ts';
import { clearInterval, setInterval } from '../application/core/runtime/timers.ts';
import { LiveFeed } from '../application/core/subscriptions/live-feed.ts';
import { runSubscriber, type SubscriberQueues } from '../application/core/subscriptions/subscriber.ts';
import { queueRoom } from '../application/core/subscriptions/tenant-queues.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { Logger } from '../application/ports/logger.ts';
import { MEMORY } from '../application/ports/memory.ts';
import { WEBHOOK_FAN_OUT } from '../application/webhooks/webhook-fan-out.ts';
import { version } from '../infrastructure/build.ts';
import type { Config } from '../infrastructure/config.ts';
import { secretsOf } from '../infrastructure/development-secrets.ts';
import { systemClock } from '../infrastructure/identity/ids.ts';
import { projections } from '../projections/all.ts';
import { catchUpIn, metricsOfGroup, shareOf } from './cluster/group.ts';
import type { Member } from './cluster/member.ts';
import { type Adapters, nodeAdapters } from './compose/adapters.ts';
import { type Areas, composeAreas, listOf } from './compose/areas.ts';
import { type Core, composeCore } from './compose/core.ts';
import { createHttpApp } from './http/app.ts';
import { ExpensiveRequests } from './http/expensive-requests.ts';
import { fingerprints } from './http/idempotency.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { requestLog } from './http/request-log.ts';
import type { Route } from './http/route.ts';
import { createHttpServer } from './http/server.ts';
import { consoleRoutes } from './pages/console.ts';
import { exampleRoutes } from './pages/examples.ts';
import { readinessOf } from './readiness.ts';
import { closeServer, type Left } from './stopping.ts';
import { startProjections } from './threads/projections.ts';
import { startTracing } from './tracing.ts';
import { SOCKET_LIMITS, SocketServer } from './ws/socket-server.ts';

export interface PlatformOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Lifetime (ms) of leases: another process takes over from a crashed process after this time. */
  readonly leaseMs?: number;
  readonly heartbeatMs?: number;
  /** Interval (ms) of the search for generations to build; default one second. */
  readonly lookMs?: number;
  readonly adapters?: Adapters;
  /** Set when this process is one of a group that shares a port. */
  readonly member?: Member | undefined;
}

export interface Platform {
  readonly areas: Areas;
  readonly core: Core;
  readonly server: Server;
  /** Retries a step while a store is unavailable, within the time limit of a start. */
  readonly wait: StoreWait;
  /** Called when the first run is complete; until then the server reports that it is not ready. */
  started(): void;
  /** True while the event log holds nothing. */
  isEmpty(): Promise<boolean>;
  /** Stops the platform: refuses requests, asks sockets to reconnect, ends background work, closes stores. */
  stop(): Promise<void>;
  /** Connections that a stop has cut, and work that it has not ended so far. */
  readonly left: Left;
}

const LEASE_MS = 3000;
/** Time (ms) for which a batch of a projection waits for further events, unless a reader waits for the projection. */
const LINGER_MS = 40;
/** Shorter in a group: readers in other processes cannot end the wait, because they read progress from the store. */
const IN_GROUP = { lingerMs: 10, saveMs: 10 };
const SWEEP_MS = 60_000;

/** Composes the product and starts its background work. The HTTP server is not listening yet. */
export const startPlatform = async (options: PlatformOptions): Promise<Platform> => {
  const { config, logger, clock = systemClock, adapters = nodeAdapters, member, lookMs } = options;
  const stopTracing = await startTracing(config, logger);
  const wait = waitForStores(logger);
  const core = await composeCore(config, secretsOf, logger, clock, wait, adapters);
  const { stores, events, follower, ids, metrics, states, readModels } = core;
  // Repeats the log's erasures before anything is served: a restored key store may hold destroyed keys.
  const erased = await wait(() => core.erasures.reapply());
  if (erased > 0) logger.info({ keys: erased }, 'erasures of the log were applied to the key store');
  const lease = { logger, owner: member?.identity.owner ?? randomUUID(), ttlMs: options.leaseMs ?? LEASE_MS };
  const budget = new CacheBudget(MEMORY.documents);
  const waitingReaders = new WaitingReaders();
  const foldLag = config.ROLE === 'worker' ? new FoldLag(() => feed.position) : undefined;
  if (foldLag !== undefined) readModels.countElsewhere(() => foldLag.longestLagMs());
  const runners = projections.map(
    (projection) =>
      new ProjectionRunner(projection, {
        ...core,
        ...lease,
        store: stores.reads,
        waitingReaders,
        budget,
        lingerMs: LINGER_MS,
        lookMs,
        onProgress: ({ tag, checkpoint }) => foldLag?.progress(`${projection.name} ${tag}`, checkpoint),
        onEnd: (tag) => foldLag?.ended(`${projection.name} ${tag}`),
      }),
  );
  const limits = createRateLimits(
    { requestsPerMinute: config.RATE_LIMIT_PER_MINUTE, loginsPerMinute: config.LOGIN_LIMIT_PER_MINUTE },
    clock,
    member,
  );
  const areas = composeAreas(core, runners, limits);
  const all = listOf(areas);
  const { authentication, impersonation } = areas.identity;
  const feed = new LiveFeed(core);
  states.trustWhile(() => feed.isCurrent);
  const endAtStart = await wait(() => events.end());
  readModels.startsAt(endAtStart);

  const stopping = new AbortController();
  const { signal } = stopping;
  const following = Promise.withResolvers<void>();
  const work: Promise<void>[] = [wait(() => feed.run(signal, following.resolve))];
  await Promise.race([following.promise, work[0]]);
  // With `ROLE=all` a thread folds the projections (in the simulation the main thread), with `ROLE=worker` the main
  // thread. With `ROLE=api` this process folds none.
  const thread =
    config.ROLE === 'all' && adapters.foldsInThread
      ? startProjections(
          {
            config,
            lease: { owner: lease.owner, ttlMs: lease.ttlMs, lingerMs: LINGER_MS, ...(member && IN_GROUP) },
          },
          { logger, metrics, parsePosition: (text) => events.parsePosition(text) },
        )
      : undefined;
  let stopListening = (): void => undefined;
  if (thread !== undefined) {
    readModels.attach(thread.folding);
    // The thread reads new events of an embedded log from the log's file; new events of a remote log are passed to it.
    if (config.EVENTSTORE_URL === undefined) feed.onGrowth(() => thread.appended());
    else stopListening = events.onGrowth(thread.appended);
    if (endAtStart !== undefined) follower.readOlderFrom({ before: endAtStart, read: thread.readPage });
  }
  if (config.ROLE !== 'api' && thread === undefined) {
    readModels.attach(runners);
    for (const runner of runners) work.push(runner.run(signal));
  }
  if (config.ROLE !== 'api') {
    const shared = {
      ...core,
      ...lease,
      store: stores.reads,
      room: queueRoom(),
      onRunning: subscriberLags(core),
    };
    for (const subscriber of all.flatMap(({ subscribers = [] }) => subscribers)) {
      work.push(runSubscriber(subscriber, shared, signal));
    }
    for (const { background } of all) {
      if (background !== undefined) work.push(background({ ...lease, store: stores.reads }, signal));
    }
  }
  work.push(...all.flatMap(({ everywhere }) => everywhere?.(signal) ?? []));
  const sweeper = setInterval(() => {
    stores.answers
      .sweep(clock.now())
      .catch((error: unknown) => logger.warn({ err: error }, 'expired answers could not be removed'));
  }, SWEEP_MS);
  sweeper.unref();

  let started = false;
  const freshness = new Freshness({ feed, readModels });
  const workerWatch =
    config.ROLE === 'api' ? new WorkerWatch({ projections, store: stores.reads }) : undefined;
  if (workerWatch !== undefined) readModels.failWhile(() => workerWatch.areWorkersMissing);
  const hasStarted = (): boolean => started;
  const catchUp =
    member !== undefined && config.EVENTSTORE_URL === undefined
      ? catchUpIn({ events, feed, readModels })
      : undefined;
  const http = createHttpApp({
    ...core,
    routes: config.ROLE === 'worker' ? [] : all.flatMap(({ routes = [] }) => routes),
    unlisted: config.ROLE === 'worker' ? [] : pagesFor(config.NODE_ENV),
    authenticate: (token, family) => authentication.authenticate(token, family),
    freshRights: (tenantId) => core.directory.freshRights(tenantId),
    readiness: readinessOf({ stores, readModels, freshness, workerWatch, endAtStart, hasStarted }),
    build: { version, revision: config.BUILD_REVISION },
    waitForReads: ({ tenantId, projections: names, minPosition }) => {
      const folded = readModels.waitFor(tenantId, names, minPosition);
      if (minPosition === undefined || feed.hasReached(minPosition)) return folded;
      // People and tenants are read from folded streams, which must have reached the position too.
      return Promise.all([folded, feed.reach(minPosition)]).then(() => undefined);
    },
    pace: (tenantId) => core.pressure.pace(tenantId),
    answered: (tenantId, position) => readModels.answered(tenantId, position),
    logPosition: () => feed.position,
    catchUp,
    parsePosition: (text) => events.parsePosition(text),
    idempotency: stores.answers,
    answerCodec: sealedAnswers(core.keys),
    fingerprint: fingerprints(core.secrets.MASTER_KEY),
    limits,
    expensive: new ExpensiveRequests(),
    metrics: member === undefined ? metrics : metricsOfGroup(member, metrics),
    logRequest: requestLog(logger, config.REQUEST_LOG_PER_SECOND),
    corsOrigins: config.CORS_ORIGINS,
    trustProxy: config.TRUST_PROXY,
    appendLine: (line) => impersonation.appendLine(line),
  });
  const server = createHttpServer(http, ids);
  const sockets = new SocketServer({
    ...core,
    origins: config.CORS_ORIGINS.concat(config.PUBLIC_URL ?? []),
    authentication,
    envelopes: areas.messaging.envelopes,
    feed,
    limits,
    catchUp,
    socketLimits: shareOf(SOCKET_LIMITS, member?.identity.processes ?? 1),
    onPosition: (tenantId, position) => readModels.answered(tenantId, position),
    appendLine: (line) => impersonation.appendLine(line),
    ...(options.heartbeatMs === undefined ? {} : { heartbeatMs: options.heartbeatMs }),
  });
  server.on('upgrade', sockets.upgrade);

  let cut = 0;
  let unfinished = 0;
  let stopWatching: (() => void) | undefined;
  return {
    areas,
    core,
    server,
    get left() {
      return { cut_connections: cut, unfinished_work: unfinished };
    },
    started: () => {
      started = true;
      // Not earlier, because a start loads modules in long ticks, which delay no request.
      stopWatching ??= adapters.watchEventLoop(metrics, logger);
    },
    wait,
    isEmpty: async () => (await wait(() => events.end())) === undefined,
    stop: async () => {
      clearInterval(sweeper);
      stopWatching?.();
      freshness.stop();
      foldLag?.stop();
      workerWatch?.stop();
      sockets.close();
      for (const { closing } of all) closing?.();
      cut = await closeServer(server);
      stopping.abort();
      stopListening();
      const ending = [...work, thread?.stop(), ...all.map(({ stop }) => stop?.())];
      unfinished = ending.length;
      await Promise.allSettled(ending.map((one) => Promise.resolve(one).finally(() => (unfinished -= 1))));
      await stores.close();
      await stopTracing();
    },
  };
};

/** Routes of pages, which are not in the OpenAPI document. */
const pagesFor = (mode: Config['NODE_ENV']): readonly Route[] => [
  ...consoleRoutes(),
  ...(mode === 'production' ? [] : exampleRoutes()),
];

/** Reports how far a subscriber that runs here is behind, in the metrics and (webhook fan-out only) to `pressure`. */
const subscriberLags =
  ({ metrics, clock, pressure }: Pick<Core, 'metrics' | 'clock' | 'pressure'>) =>
  (name: string, queues: SubscriberQueues): (() => void) => {
    const unwatch =
      name === WEBHOOK_FAN_OUT ? pressure.watch((tenantId) => queues.waitingSinceOf(tenantId)) : undefined;
    const stop = metrics.atScrape(() => {
      const now = clock.now();
      metrics.subscriberLag(name, Math.max(0, now - (queues.waitingSince ?? now)) / 1000);
      metrics.tenantsBehind(name, queues.tenantsBehind);
    });
    return () => {
      stop();
      unwatch?.();
      metrics.subscriberLag(name, undefined);
      metrics.tenantsBehind(name, undefined);
    };
  };
