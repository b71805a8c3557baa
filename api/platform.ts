import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { type StoreWait, waitForStores } from '../application/core/concurrency/store-wait.ts';
import { CacheBudget } from '../application/core/memory/bounded-cache.ts';
import { sealedAnswers } from '../application/core/privacy/sealed-answers.ts';
import { Freshness } from '../application/core/projections/freshness.ts';
import { ProjectionRunner } from '../application/core/projections/projection-runner.ts';
import { WaitingReaders } from '../application/core/projections/waiting-readers.ts';
import { LiveFeed } from '../application/core/subscriptions/live-feed.ts';
import { runSubscriber } from '../application/core/subscriptions/subscriber.ts';
import { queueRoom } from '../application/core/subscriptions/tenant-queues.ts';
import { Envelopes } from '../application/messaging/envelopes.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { Logger } from '../application/ports/logger.ts';
import { MEMORY } from '../application/ports/memory.ts';
import type { Config } from '../infrastructure/config.ts';
import { secretsOf } from '../infrastructure/development-secrets.ts';
import { systemClock } from '../infrastructure/identity/ids.ts';
import { projections } from '../projections/all.ts';
import { type Areas, composeAreas, listOf } from './compose/areas.ts';
import { type Core, composeCore } from './compose/core.ts';
import { watchEventLoop } from './event-loop.ts';
import { createHttpApp } from './http/app.ts';
import { ExpensiveRequests } from './http/expensive-requests.ts';
import type { Check } from './http/health.ts';
import { fingerprints } from './http/idempotency.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { createHttpServer } from './http/server.ts';
import { startProjections } from './threads/projections.ts';
import { SocketServer } from './ws/socket-server.ts';

export interface PlatformOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Lifetime of leases: another node takes over from a crashed one after this time. */
  readonly leaseMs?: number;
  readonly heartbeatMs?: number;
}

export interface Platform {
  readonly areas: Areas;
  readonly core: Core;
  readonly server: Server;
  /** Waits for stores with the start's time limit. */
  readonly wait: StoreWait;
  /** Called when the first run is complete: the server then reports that it is ready. */
  started(): void;
  /** True while the event log holds nothing. */
  isEmpty(): Promise<boolean>;
  /** Stops the platform: refuses requests, asks sockets to reconnect, ends background work, closes stores. */
  stop(): Promise<void>;
}

const LEASE_MS = 3000;
/** Under load many events are folded together; a reader that waits for a projection ends the delay. */
const LINGER_MS = 40;
const SWEEP_MS = 60_000;

/** Composes the product and starts its background work. The HTTP server is not listening yet. */
export const startPlatform = async (options: PlatformOptions): Promise<Platform> => {
  const { config, logger, clock = systemClock } = options;
  const wait = waitForStores(logger);
  const core = await composeCore(config, secretsOf, logger, clock, wait);
  const { stores, follower, ids, metrics, keys, codec, states, directory, readModels } = core;
  // Repeats erasures of the log before anything is served, since restored key stores may hold destroyed keys.
  const erased = await wait(() => core.erasures.reapply());
  if (erased > 0) logger.info({ keys: erased }, 'erasures of the log were applied to the key store');
  const lease = { logger, owner: randomUUID(), ttlMs: options.leaseMs ?? LEASE_MS };
  const budget = new CacheBudget(MEMORY.documents);
  const waitingReaders = new WaitingReaders();
  const runners = projections.map(
    (projection) =>
      new ProjectionRunner(projection, {
        waitingReaders,
        ...lease,
        store: stores.reads,
        events: stores.events,
        follower,
        codec,
        budget,
        metrics,
        clock,
        lingerMs: LINGER_MS,
      }),
  );
  const areas = composeAreas(core, runners);
  const all = listOf(areas);
  const { authentication, impersonation } = areas.identity;
  const feed = new LiveFeed({ events: stores.events, follower, codec, states, keys, logger });
  states.trustWhile(() => feed.isCurrent);
  const envelopes = new Envelopes({ directory, streams: core.streams, keys });
  const headAtStart = await wait(() => stores.events.end());
  readModels.startsAt(headAtStart);

  const stopping = new AbortController();
  const { signal } = stopping;
  const following = Promise.withResolvers<void>();
  const work: Promise<void>[] = [wait(() => feed.run(signal, following.resolve))];
  await Promise.race([following.promise, work[0]]);
  // A process that serves requests folds projections in a thread; a worker process does it on its main thread.
  const thread =
    config.ROLE === 'all'
      ? startProjections(
          { config, lease: { owner: lease.owner, ttlMs: lease.ttlMs, lingerMs: LINGER_MS } },
          { logger, metrics, parsePosition: (text) => stores.events.parsePosition(text) },
        )
      : undefined;
  let stopListening = (): void => undefined;
  if (thread !== undefined) {
    readModels.attach(thread.folding);
    // The thread reads new events of the embedded log from its file; those of a remote store are passed on to it.
    if (config.EVENTSTORE_URL === undefined) feed.onGrowth(() => thread.appended());
    else stopListening = stores.events.onGrowth(thread.appended);
    if (headAtStart !== undefined) follower.readOlderFrom({ before: headAtStart, read: thread.readPage });
  }
  if (config.ROLE === 'worker') {
    readModels.attach(runners);
    for (const runner of runners) work.push(runner.run(signal));
  }
  if (config.ROLE !== 'api') {
    const shared = {
      ...lease,
      store: stores.reads,
      follower,
      codec,
      turns: core.turns,
      room: queueRoom(),
    };
    for (const subscriber of all.flatMap(({ subscribers = [] }) => subscribers)) {
      work.push(runSubscriber(subscriber, shared, signal));
    }
    for (const { background } of all) {
      if (background !== undefined) work.push(background({ ...lease, store: stores.reads }, signal));
    }
  }
  work.push(...all.flatMap(({ everywhere }) => everywhere?.(signal) ?? []));
  const stopWatching = watchEventLoop(metrics);
  const sweeper = setInterval(() => {
    stores.answers
      .sweep(clock.now())
      .catch((error: unknown) => logger.warn({ err: error }, 'stored answers could not be swept'));
  }, SWEEP_MS);
  sweeper.unref();

  let started = false;
  /** Whether the read models have folded everything that was in the log at the start. */
  let caughtUp = false;
  const freshness = new Freshness({ feed, readModels });
  const checkedReadModels = async (): Promise<Check> => {
    try {
      caughtUp ||= await readModels.reached(headAtStart);
      return caughtUp && !(await freshness.isCatchingUp()) ? 'ok' : 'catching_up';
    } catch {
      return 'failed';
    }
  };
  const limits = createRateLimits(
    { requestsPerMinute: config.RATE_LIMIT_PER_MINUTE, loginsPerMinute: config.LOGIN_LIMIT_PER_MINUTE },
    clock,
  );
  const http = createHttpApp({
    routes: config.ROLE === 'worker' ? [] : all.flatMap(({ routes = [] }) => routes),
    authenticate: (token, family) => authentication.authenticate(token, family),
    readiness: async () => {
      const [event_store, read_store, key_store, blob_store, read_models] = await Promise.all([
        checked(() => stores.events.end()),
        checked(() => stores.reads.ping()),
        checked(() => stores.keys.ping()),
        checked(() => stores.blobs.ping()),
        checkedReadModels(),
      ]);
      const stored = { event_store, read_store, key_store, blob_store };
      const checks = { ...stored, read_models, first_run: started ? 'ok' : 'failed' } as const;
      return { checks, serves: caughtUp && !Object.values(checks).includes('failed') };
    },
    waitForReads: ({ tenantId, projections: names, minPosition }) => {
      const folded = readModels.waitFor(tenantId, names, minPosition);
      if (minPosition === undefined || feed.hasReached(minPosition)) return folded;
      // People and tenants are read from folded streams, which must have reached the position too.
      return Promise.all([folded, feed.reach(minPosition)]).then(() => undefined);
    },
    answered: (tenantId, position) => readModels.answered(tenantId, position),
    logPosition: () => feed.position,
    parsePosition: (text) => stores.events.parsePosition(text),
    idempotency: stores.answers,
    answerCodec: sealedAnswers(keys),
    fingerprint: fingerprints(core.secrets.MASTER_KEY),
    clock,
    ids,
    limits,
    expensive: new ExpensiveRequests(),
    metrics,
    logger,
    trustProxy: config.TRUST_PROXY,
    appendLine: (line) => impersonation.appendLine(line),
  });
  const server = createHttpServer(http, ids);
  const sockets = new SocketServer({
    authentication,
    envelopes,
    events: stores.events,
    codec,
    feed,
    ids,
    limits,
    told: (tenantId, position) => readModels.answered(tenantId, position),
    appendLine: (line) => impersonation.appendLine(line),
    clock,
    metrics,
    logger,
    ...(options.heartbeatMs === undefined ? {} : { heartbeatMs: options.heartbeatMs }),
  });
  server.on('upgrade', sockets.upgrade);

  return {
    areas,
    core,
    server,
    started: () => {
      started = true;
    },
    wait,
    isEmpty: async () => (await wait(() => stores.events.end())) === undefined,
    stop: async () => {
      clearInterval(sweeper);
      stopWatching();
      freshness.stop();
      sockets.close();
      for (const { closing } of all) closing?.();
      await closeServer(server);
      stopping.abort();
      stopListening();
      await Promise.allSettled([...work, thread?.stop(), ...all.map(({ stop }) => stop?.())]);
      await stores.close();
    },
  };
};

/** Waits for open requests, bounded so that the process ends within ten seconds. */
const closeServer = async (server: Server): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // Clients keep connections alive that were busy when the server closed, so idle ones are closed repeatedly.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const cutOff = setTimeout(() => server.closeAllConnections(), 6000);
  await closed;
  clearInterval(idle);
  clearTimeout(cutOff);
};

const checked = async (check: () => Promise<unknown>): Promise<Check> => {
  try {
    await check();
    return 'ok';
  } catch {
    return 'failed';
  }
};
