import express, { type Express, type Request, type Response } from 'express';
import type { Principal } from '../../application/core/commands/principal.ts';
import { mark } from '../../application/core/concurrency/tick-marks.ts';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import { monotonic } from '../../application/core/runtime/timers.ts';
import { startSpan, traceIdOf } from '../../application/core/runtime/tracing.ts';
import { SearchGivenUp } from '../../application/ports/searches.ts';
import { notFound } from '../../domain/core/errors.ts';
import { docsRoutes } from '../openapi/docs.ts';
import { dropRest } from './body-slices.ts';
import { sliceOwnerOf, tenantOf } from './checks.ts';
import { ConcurrentReads } from './concurrent-reads.ts';
import { crossOrigin } from './cors.ts';
import type { HttpDeps } from './deps.ts';
import { Endpoint } from './endpoint.ts';
import { errorAnswer, methodNotAllowed } from './errors.ts';
import { type Exchange, send, sendError } from './exchange.ts';
import { healthRoutes, versionRoute } from './health.ts';
import { Idempotency } from './idempotency.ts';
import type { HttpMetrics } from './metrics.ts';
import { PendingAnswers } from './pending-answers.ts';
import { Pipelined } from './pipelined.ts';
import { requestIdOf } from './request-id.ts';
import { operatorRoute, type Route, route } from './route.ts';
import { Router, type Segments } from './router.ts';
import { checkHost } from './server.ts';
import { notAnUpgrade, SOCKET_METHODS, SOCKET_PATH } from './socket-path.ts';

/** Redirects by path; relative, so that they work behind a proxy's path prefix. */
const REDIRECTS: ReadonlyMap<string, string> = new Map([
  ['/', 'docs'],
  ['/docs/', '../docs'],
  ['/console/', '../console'],
]);

/** Paths of probes and metrics, which are not traced. */
const UNTRACED = /^\/(?:health\/|metrics$)/;

const metricsRoute = (metrics: HttpMetrics): Route =>
  route({
    ...operatorRoute,
    path: '/metrics',
    operationId: 'metrics',
    produces: 'text/plain',
    openQuery: true,
    summary: 'Metrics in the text format of Prometheus',
    description: 'Not for the internet: keep it behind a proxy.',
    isPrompt: true,
    responses: { 200: null },
    handle: async () => ({
      status: 200,
      headers: { 'Content-Type': metrics.contentType },
      body: await metrics.expose(),
    }),
  });

/** Adds the routes of every server: health, version, metrics, and API documents with their pages. */
export const allRoutes = ({
  routes: own,
  readiness,
  build,
  metrics,
}: Pick<HttpDeps, 'routes' | 'readiness' | 'build' | 'metrics'>): readonly Route[] => {
  const routes = [...own, ...healthRoutes(readiness), versionRoute(build), metricsRoute(metrics)];
  return [...routes, ...docsRoutes(routes)];
};

const endpointsOf = (deps: HttpDeps): Router<Endpoint> => {
  const idempotency = new Idempotency(deps);
  const router = new Router<Endpoint>();
  for (const served of [...allRoutes(deps), ...(deps.unlisted ?? [])]) {
    const endpoint = new Endpoint(served, deps, idempotency);
    for (const path of [served.path, ...(served.aliases ?? [])]) {
      router.add(served.method.toUpperCase(), path, endpoint);
    }
  }
  return router;
};

/**
 * Splits a request target into path and query. Accepts a path or, as proxies receive it, a whole URL; the path of any
 * other target has no route.
 */
const locate = (url: string): { path: string; search: string } => {
  if (!url.startsWith('/')) {
    const parsed = URL.parse(url);
    return { path: parsed?.pathname ?? '', search: parsed?.search.slice(1) ?? '' };
  }
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark + 1) };
};

/**
 * The Express application. One middleware finds the endpoint, runs it and sends the reply or the error. Serve it with
 * `createHttpServer`.
 */
export const createHttpApp = (deps: HttpDeps): Express => {
  const { ids, logger, logRequest, metrics } = deps;
  const router = endpointsOf(deps);
  const unmatched = metrics.route('*', 'unmatched');
  const pending = new PendingAnswers(metrics);
  const reads = new ConcurrentReads();
  const pipelined = new Pipelined(() => metrics.connectionCut('pipelined'));

  /** Undefined for `OPTIONS` and redirects, which are answered here. @throws {DomainError} 400, 404, 405, 426 */
  const find = (exchange: Exchange): readonly [Endpoint, Segments] | undefined => {
    const { request, path } = exchange;
    checkHost(request);
    const page = REDIRECTS.get(path);
    if (page !== undefined && (request.method === 'GET' || request.method === 'HEAD')) {
      send(exchange, { status: 302, headers: { Location: page } });
      return undefined;
    }
    const match = router.find(path);
    if (match === undefined && path !== SOCKET_PATH) throw notFound();
    const found = match?.resource.endpoints.get(request.method);
    if (found !== undefined) {
      return [found.target, found.names.map((name, nth) => [name, match?.values[nth] ?? ''])];
    }
    const allowed = match?.resource.allowed ?? SOCKET_METHODS;
    if (request.method === 'OPTIONS') send(exchange, { status: 204, headers: { Allow: allowed.join(', ') } });
    else throw match === undefined ? notAnUpgrade(request.method) : methodNotAllowed(allowed);
    return undefined;
  };

  const fail = (exchange: Exchange, endpoint: Endpoint | undefined, error: unknown): void => {
    const answer = errorAnswer(error);
    metrics.refused(answer);
    if (answer.status >= 500) {
      const fields = { ...factsOf(exchange, endpoint), status: answer.status };
      // A search that took or waited too long, or found too many waiting, is no fault of the server.
      if (error instanceof SearchGivenUp)
        logger.warn({ ...fields, reason: error.message }, 'search given up');
      else logger.error({ ...fields, err: error }, 'request failed');
    }
    dropRest(exchange.request, () => timeSlices.of(sliceOwnerOf(exchange.principal), 'unread body'));
    const page = endpoint?.route.errorPage?.(answer, exchange.request.headers);
    if (page === undefined || exchange.response.headersSent) sendError(exchange, answer);
    else send(exchange, { ...page, status: answer.status, headers: { ...page.headers, ...answer.headers } });
  };

  const answer = async (exchange: Exchange): Promise<void> => {
    const began = monotonic();
    let endpoint: Endpoint | undefined;
    try {
      const found = find(exchange);
      if (found !== undefined) {
        endpoint = found[0];
        if (endpoint.route.tag !== 'Operations') await deps.catchUp?.();
        const reply = await endpoint.serve(exchange, found[1]);
        await exchange.impersonationLog?.replied(reply);
        mark(endpoint.route.operationId);
        send(exchange, reply);
      }
    } catch (error) {
      const { impersonationLog } = exchange;
      fail(
        exchange,
        endpoint,
        impersonationLog === undefined ? error : await impersonationLog.refused(error),
      );
    } finally {
      exchange.releaseReadSlot?.();
    }
    const { statusCode: status } = exchange.response;
    const ms = monotonic() - began;
    (endpoint?.observe ?? unmatched)(status, ms / 1000);
    const route = endpoint?.route.path ?? 'unmatched';
    exchange.span?.rename(`${exchange.request.method} ${route}`);
    exchange.span?.end({
      'http.route': route,
      'http.response.status_code': status,
      ...ownerAttributes(exchange.principal),
      ...(status >= 500 ? { 'error.type': String(status) } : {}),
    });
    logRequest?.(
      { ...factsOf(exchange, endpoint), status, ms: Math.round(ms * 10) / 10 },
      exchange.principal,
    );
  };

  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  if (deps.trustProxy !== undefined) app.set('trust proxy', deps.trustProxy);
  app.use((request, response, next) => pipelined.serve(request, response, next));
  if (deps.corsOrigins?.length) app.use(crossOrigin(deps.corsOrigins));
  app.use((request: Request, response: Response): Promise<void> => {
    const requestId = requestIdOf(request, ids);
    const { path, search } = locate(request.url);
    const parent = request.headers.traceparent;
    const span = UNTRACED.test(path)
      ? undefined
      : startSpan(request.method, 'server', typeof parent === 'string' ? parent : undefined, {
          'http.request.method': request.method,
        });
    return answer({
      request,
      response,
      requestId,
      span,
      path,
      search,
      impersonationLog: undefined,
      admittedAt: 0,
      principal: undefined,
      limitHeaders: undefined,
      pending,
      reads,
      releaseReadSlot: undefined,
    });
  });
  return app;
};

/** Span attributes of the caller: kind and tenant, nothing about a person. */
const ownerAttributes = (principal: Principal | undefined) => {
  if (principal === undefined) return {};
  const tenantId = tenantOf(principal);
  return { 'caller.kind': principal.kind, ...(tenantId === undefined ? {} : { 'tenant.id': tenantId }) };
};

/** Fields of a request for the log. They name the route's pattern, not the path, which may hold a credential. */
const factsOf = ({ requestId, span, request: { method } }: Exchange, endpoint: Endpoint | undefined) => ({
  request_id: requestId,
  ...(span === undefined ? {} : { trace_id: traceIdOf(span.traceparent) }),
  method,
  route: endpoint?.route.path ?? 'unmatched',
});
