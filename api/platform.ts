import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { runBlobSweeps } from '../application/blob-sweep.ts';
import { Envelopes } from '../application/envelopes.ts';
import { LiveFeed } from '../application/live-feed.ts';
import type { Clock } from '../application/ports/clock.ts';
import type { Logger } from '../application/ports/logger.ts';
import { MEMORY } from '../application/ports/memory.ts';
import { Pressure } from '../application/pressure.ts';
import { ProjectionHost } from '../application/projection-host.ts';
import { sealedAnswers } from '../application/sealed-answers.ts';
import { runSubscriber } from '../application/subscriber.ts';
import { CacheRoom } from '../application/weighed-cache.ts';
import type { Config } from '../infrastructure/config.ts';
import { systemClock } from '../infrastructure/identity/ids.ts';
import { projections } from '../projections/all.ts';
import { composeApp } from './compose/app.ts';
import { runAuditHeads, runAuditSeals } from './compose/audit-proof.ts';
import { runBulkWork } from './compose/bulk.ts';
import { composeCore } from './compose/core.ts';
import { runInvoiceWork } from './compose/invoices.ts';
import { composeSubscribers } from './compose/subscribers.ts';
import { runWebhooks } from './compose/webhooks.ts';
import { createHttpApp } from './http/app.ts';
import { fingerprints } from './http/idempotency.ts';
import { createRateLimits } from './http/rate-limits.ts';
import { createHttpServer } from './http/server.ts';
import { routesOf } from './routes/all.ts';
import type { App } from './routes/app.ts';
import { startProjections } from './threads/projections.ts';
import { SocketServer } from './ws/socket-server.ts';

export interface PlatformOptions {
  readonly config: Config;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Life of leases; another node takes over this long after one died. */
  readonly leaseMs?: number;
  readonly heartbeatMs?: number;
}

export interface Platform {
  readonly app: App;
  readonly server: Server;
  /** Told when nothing of the first run is left to do: from then on the server says that it is ready. */
  started(): void;
  /** True while the event log holds nothing. */
  isEmpty(): Promise<boolean>;
  /** Lets go of everything: no new requests, sockets told to come back, work ended, stores closed. */
  stop(): Promise<void>;
}

const LEASE_MS = 3000;
/** Under load many events are folded together; who waits for a projection cuts this short. */
const LINGER_MS = 40;
const SWEEP_MS = 60_000;
/** When it has to stop, calls of requests to an upstream get so long to end. */
const LAST_CALLS_MS = 2000;

/** Puts the product together and starts its background work. The HTTP server is not listening yet. */
export const startPlatform = async (options: PlatformOptions): Promise<Platform> => {
  const { config, logger, clock = systemClock } = options;
  const core = await composeCore(config, logger, clock);
  const { stores, ids, metrics, keys, codec, states, directory, readModels } = core;
  // Whatever keys this process finds: what the log says is erased is erased before anything is served.
  const erased = await core.erasures.reapply();
  if (erased > 0) logger.info({ keys: erased }, 'erasures of the log were applied to the key store');
  const lease = { logger, owner: randomUUID(), ttlMs: options.leaseMs ?? LEASE_MS };
  const room = new CacheRoom(MEMORY.documents);
  const pressure = new Pressure();
  const hosts = projections.map(
    (projection) =>
      new ProjectionHost(projection, {
        pressure,
        ...lease,
        store: stores.reads,
        events: stores.events,
        codec,
        room,
        metrics,
        clock,
        lingerMs: LINGER_MS,
      }),
  );
  const app = composeApp(core, hosts);
  const { authentication } = app;
  const feed = new LiveFeed({ events: stores.events, codec, states, keys, logger });
  states.trustWhile(() => feed.isCurrent);
  const envelopes = new Envelopes({ directory, states, keys });
  const headAtStart = await stores.events.head();
  readModels.startsAt(headAtStart);

  const stopping = new AbortController();
  const { signal } = stopping;
  const following = Promise.withResolvers<void>();
  const work: Promise<void>[] = [feed.run(signal, following.resolve)];
  await Promise.race([following.promise, work[0]]);
  // Beside requests, projections are folded in a thread of their own; a worker process has nothing else to do.
  const thread =
    config.ROLE === 'all'
      ? startProjections(
          { config, lease: { owner: lease.owner, ttlMs: lease.ttlMs, lingerMs: LINGER_MS } },
          { logger, metrics, parsePosition: (text) => stores.events.parsePosition(text) },
        )
      : undefined;
  if (thread !== undefined) {
    readModels.attach(thread.folding);
    feed.onGrowth(() => thread.appended());
  }
  if (config.ROLE === 'worker') {
    readModels.attach(hosts);
    for (const host of hosts) work.push(host.run(signal));
  }
  if (config.ROLE !== 'api') {
    const shared = { ...lease, store: stores.reads, events: stores.events, codec };
    for (const subscriber of composeSubscribers(core, app))
      work.push(runSubscriber(subscriber, shared, signal));
    work.push(runWebhooks(core, { ...lease, store: stores.reads }, signal));
    work.push(runBulkWork(core, app, signal));
    work.push(runInvoiceWork(core, app, { ...lease, store: stores.reads }, signal));
    work.push(runAuditSeals(app, { ...lease, store: stores.reads }, signal));
    work.push(runBlobSweeps({ blobs: stores.blobs, events: stores.events, clock, logger }, signal));
  }
  work.push(...runAuditHeads(app, signal));
  const sweeper = setInterval(() => {
    stores.answers
      .sweep(clock.now())
      .catch((error: unknown) => logger.warn({ err: error }, 'stored answers could not be swept'));
  }, SWEEP_MS);
  sweeper.unref();

  let caughtUp = false;
  let started = false;
  const limits = createRateLimits(
    { requestsPerMinute: config.RATE_LIMIT_PER_MINUTE, loginsPerMinute: config.LOGIN_LIMIT_PER_MINUTE },
    clock,
  );
  const http = createHttpApp({
    routes: config.ROLE === 'worker' ? [] : routesOf(app),
    authenticate: (token, family) => authentication.authenticate(token, family),
    readiness: async () => {
      caughtUp ||= await succeeds(async () => {
        if (!(await readModels.reached(headAtStart))) throw new Error('behind');
      });
      return {
        event_store: await succeeds(() => stores.events.head()),
        read_store: await succeeds(() => stores.reads.ping()),
        key_store: await succeeds(() => stores.keys.ping()),
        blob_store: await succeeds(() => stores.blobs.ping()),
        read_models: caughtUp,
        first_run: started,
      };
    },
    waitForReads: ({ tenantId, projections: names, minPosition }) => {
      const folded = readModels.waitFor(tenantId, names, minPosition);
      if (minPosition === undefined || feed.hasReached(minPosition)) return folded;
      // People and tenants are read from folded streams: these must have seen the position as well.
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
    metrics,
    logger,
    trustProxy: config.TRUST_PROXY,
    leaveLine: (line) => app.impersonation.leaveLine(line),
  });
  const server = createHttpServer(http, ids);
  const sockets = new SocketServer({
    authentication,
    envelopes,
    events: stores.events,
    codec,
    feed,
    ids,
    limit: (caller) => limits.request(caller),
    told: (tenantId, position) => readModels.answered(tenantId, position),
    leaveLine: (line) => app.impersonation.leaveLine(line),
    clock,
    metrics,
    logger,
    ...(options.heartbeatMs === undefined ? {} : { heartbeatMs: options.heartbeatMs }),
  });
  server.on('upgrade', sockets.upgrade);

  return {
    app,
    server,
    started: () => {
      started = true;
    },
    isEmpty: async () => (await stores.events.head()) === undefined,
    stop: async () => {
      clearInterval(sweeper);
      sockets.close();
      // Requests that wait for an upstream are answered in time: the intent is stored.
      setTimeout(() => app.invoices.stop(), LAST_CALLS_MS).unref();
      app.replay.stop();
      await closeServer(server);
      stopping.abort();
      await app.bulkRunner.stop();
      await app.stopAssistant();
      await Promise.allSettled([...work, thread?.stop(), app.tokenUses.close()]);
      await stores.close();
    },
  };
};

/** Waits for requests under way, at most so long that the process is gone within ten seconds. */
const closeServer = async (server: Server): Promise<void> => {
  if (!server.listening) return;
  const closed = new Promise<void>((resolve) => server.close(() => resolve()));
  // A connection that was busy when the server closed is kept alive by its client, so it is asked again.
  const idle = setInterval(() => server.closeIdleConnections(), 50);
  const cutOff = setTimeout(() => server.closeAllConnections(), 6000);
  await closed;
  clearInterval(idle);
  clearTimeout(cutOff);
};

const succeeds = async (check: () => Promise<unknown>): Promise<boolean> => {
  try {
    await check();
    return true;
  } catch {
    return false;
  }
};
