import express, { type Express, type Request, type Response } from 'express';
import { mark } from '../../application/core/concurrency/tick-marks.ts';
import { SearchGivenUp } from '../../application/ports/read-store.ts';
import { notFound } from '../../domain/core/errors.ts';
import type { HttpDeps } from './deps.ts';
import { docsRoutes } from './docs.ts';
import { Endpoint } from './endpoint.ts';
import { errorAnswer, methodNotAllowed } from './errors.ts';
import { type Exchange, send, sendError } from './exchange.ts';
import { healthRoutes } from './health.ts';
import { Idempotency } from './idempotency.ts';
import type { HttpMetrics } from './metrics.ts';
import { PendingAnswers } from './pending-answers.ts';
import { type Route, route } from './route.ts';
import { Router, type Segments } from './router.ts';
import { checkHost } from './server.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

const metricsRoute = (metrics: HttpMetrics): Route =>
  route({
    method: 'get',
    path: '/metrics',
    operationId: 'metrics',
    summary: 'Metrics in the text format of Prometheus',
    tag: 'Operations',
    access: { kind: 'public' },
    responses: { 200: null },
    handle: async () => ({
      status: 200,
      headers: { 'Content-Type': metrics.contentType },
      body: await metrics.expose(),
    }),
  });

/** Adds the routes of every server: health, metrics, OpenAPI document and its page. */
export const allRoutes = (deps: HttpDeps): readonly Route[] => {
  const routes = [...deps.routes, ...healthRoutes(deps.readiness), metricsRoute(deps.metrics)];
  return [...routes, ...docsRoutes(routes)];
};

const endpointsOf = (deps: HttpDeps): Router<Endpoint> => {
  const { idempotency: store, answerCodec, clock, logger, logPosition } = deps;
  const idempotency = new Idempotency(store, answerCodec, clock, logger, logPosition);
  const router = new Router<Endpoint>();
  for (const served of allRoutes(deps)) {
    const endpoint = new Endpoint(served, deps, idempotency);
    for (const path of [served.path, ...(served.aliases ?? [])]) {
      router.add(served.method.toUpperCase(), path, endpoint);
    }
  }
  return router;
};

/** Splits a request target: a path, or (to a proxy) a whole URL; any other target has no route. */
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
  const { ids, logger, metrics } = deps;
  const router = endpointsOf(deps);
  const unmatched = metrics.route('*', 'unmatched');
  const pending = new PendingAnswers(metrics);

  /** Undefined for `OPTIONS`, which is answered here. @throws {DomainError} 400, 404, 405 */
  const find = (exchange: Exchange): readonly [Endpoint, Segments] | undefined => {
    const { request, path } = exchange;
    checkHost(request);
    const match = router.find(path);
    if (match === undefined) throw notFound();
    const { endpoints, allowed } = match.resource;
    const found = endpoints.get(request.method);
    if (found !== undefined) {
      return [found.target, found.names.map((name, nth) => [name, match.values[nth] ?? ''])];
    }
    if (request.method !== 'OPTIONS') throw methodNotAllowed(allowed);
    send(exchange, { status: 204, headers: { Allow: allowed.join(', ') } });
    return undefined;
  };

  const fail = (exchange: Exchange, endpoint: Endpoint | undefined, error: unknown): void => {
    const answer = errorAnswer(error);
    metrics.refused(answer);
    if (answer.status >= 500) {
      const fields = { ...factsOf(exchange, endpoint), status: answer.status };
      // An expensive search is the caller's error, not the server's.
      if (error instanceof SearchGivenUp)
        logger.warn({ ...fields, reason: error.message }, 'search given up');
      else logger.error({ ...fields, err: error }, 'request failed');
    }
    const page = endpoint?.route.errorPage?.(answer, exchange.request.headers);
    if (page === undefined || exchange.response.headersSent) sendError(exchange, answer);
    else send(exchange, { ...page, status: answer.status, headers: { ...page.headers, ...answer.headers } });
  };

  const answer = async (exchange: Exchange): Promise<void> => {
    const began = performance.now();
    let endpoint: Endpoint | undefined;
    try {
      const found = find(exchange);
      if (found !== undefined) {
        endpoint = found[0];
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
    }
    const { statusCode: status } = exchange.response;
    const seconds = (performance.now() - began) / 1_000;
    (endpoint?.observe ?? unmatched)(status, seconds);
    logger.debug({ ...factsOf(exchange, endpoint), status, seconds }, 'request');
  };

  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  if (deps.trustProxy !== undefined) app.set('trust proxy', deps.trustProxy);
  app.use((request: Request, response: Response): Promise<void> => {
    const given = request.headers['x-request-id'];
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : ids.next();
    const { path, search } = locate(request.url);
    return answer({
      request,
      response,
      requestId,
      path,
      search,
      impersonationLog: undefined,
      admittedAt: 0,
      principal: undefined,
      pending,
    });
  });
  return app;
};

/** Logs the route's pattern, not the path: paths of public links hold a credential. */
const factsOf = ({ requestId, request: { method } }: Exchange, endpoint: Endpoint | undefined) => ({
  request_id: requestId,
  method,
  route: endpoint?.route.path ?? 'unmatched',
});
