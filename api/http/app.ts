import express, { type Express, type Request, type Response } from 'express';
import { SearchGivenUp } from '../../application/ports/read-store.ts';
import { invalid, notFound } from '../../domain/errors.ts';
import type { HttpDeps } from './deps.ts';
import { docsRoutes } from './docs.ts';
import { Endpoint } from './endpoint.ts';
import { errorAnswer, methodNotAllowed } from './errors.ts';
import { type Exchange, send, sendError } from './exchange.ts';
import { healthRoutes } from './health.ts';
import { Idempotency } from './idempotency.ts';
import type { HttpMetrics, ObserveAnswer } from './metrics.ts';
import { type Route, route } from './route.ts';
import { Router } from './router.ts';
import { lacksHost } from './server.ts';

interface Target {
  readonly endpoint: Endpoint;
  readonly pattern: string;
  readonly observe: ObserveAnswer;
}

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

/** The given routes with those that every server has: health, metrics, the document and its page. */
export const allRoutes = (deps: HttpDeps): readonly Route[] => {
  const routes = [...deps.routes, ...healthRoutes(deps.readiness), metricsRoute(deps.metrics)];
  return [...routes, ...docsRoutes(routes)];
};

const targets = (deps: HttpDeps): Router<Target> => {
  const router = new Router<Target>();
  const idempotency = new Idempotency(
    deps.idempotency,
    deps.answerCodec,
    deps.clock,
    deps.logger,
    deps.logPosition,
  );
  for (const served of allRoutes(deps)) {
    const endpoint = new Endpoint(served, deps, idempotency);
    const method = served.method.toUpperCase();
    const observe = deps.metrics.route(method, served.path);
    for (const pattern of [served.path, ...(served.aliases ?? [])]) {
      router.add(method, pattern, { endpoint, pattern, observe });
    }
  }
  return router;
};

/** A request target is a path, or (to a proxy) a whole URL; anything else is no path of ours. */
const locate = (url: string): { path: string; search: string } => {
  if (!url.startsWith('/')) {
    const parsed = URL.parse(url);
    return { path: parsed?.pathname ?? '', search: parsed?.search.slice(1) ?? '' };
  }
  const mark = url.indexOf('?');
  return mark < 0 ? { path: url, search: '' } : { path: url.slice(0, mark), search: url.slice(mark + 1) };
};

/**
 * The Express application. Its one middleware serves every route: a stack of small ones would cost each request more
 * than all the checks together (`bench/`). Serve it with `createHttpServer`.
 */
export const createHttpApp = (deps: HttpDeps): Express => {
  const { ids, logger, metrics } = deps;
  const router = targets(deps);
  const unmatched = metrics.route('*', 'unmatched');

  const finish = (exchange: Exchange, target: Target | undefined, began: number): void => {
    const { request, response, requestId } = exchange;
    const seconds = (performance.now() - began) / 1_000;
    (target?.observe ?? unmatched)(response.statusCode, seconds);
    logger.debug(
      {
        request_id: requestId,
        method: request.method,
        // The pattern, not the path: public links carry their credential in it.
        route: target?.pattern ?? 'unmatched',
        status: response.statusCode,
        seconds,
      },
      'request',
    );
  };

  const fail = (exchange: Exchange, target: Target | undefined, error: unknown): void => {
    const answer = errorAnswer(error);
    if (answer.status >= 500) {
      const { requestId, request } = exchange;
      const where = target?.pattern ?? 'unmatched';
      const fields = { request_id: requestId, method: request.method, route: where, status: answer.status };
      // What a caller asked too much of is no fault of ours.
      if (error instanceof SearchGivenUp)
        logger.warn({ ...fields, reason: error.message }, 'search given up');
      else logger.error({ ...fields, err: error }, 'request failed');
    }
    const shown = target?.endpoint.route.errorPage?.(answer, exchange.request.headers);
    if (shown === undefined || exchange.response.headersSent) sendError(exchange, answer);
    else
      send(exchange, { ...shown, status: answer.status, headers: { ...shown.headers, ...answer.headers } });
  };

  const answer = async (exchange: Exchange): Promise<void> => {
    const began = performance.now();
    const { request, path } = exchange;
    let target: Target | undefined;
    try {
      if (lacksHost(request)) {
        throw invalid([{ path: 'Host', code: 'required', message: 'The header Host is required.' }]);
      }
      const match = router.find(path);
      if (match === undefined) throw notFound();
      const { endpoints, allowed } = match.resource;
      const found = endpoints.get(request.method);
      if (found === undefined) {
        if (request.method !== 'OPTIONS') throw methodNotAllowed(allowed);
        send(exchange, { status: 204, headers: { Allow: allowed.join(', ') } });
      } else {
        target = found.target;
        const reply = await target.endpoint.serve(exchange, found.names, match.values);
        if (exchange.trail !== undefined) await exchange.trail.replied(reply);
        send(exchange, reply);
      }
    } catch (error) {
      fail(exchange, target, exchange.trail === undefined ? error : await exchange.trail.refused(error));
    }
    finish(exchange, target, began);
  };

  const app = express();
  app.disable('etag');
  app.disable('x-powered-by');
  if (deps.trustProxy !== undefined) app.set('trust proxy', deps.trustProxy);
  app.use((request: Request, response: Response): Promise<void> => {
    const given = request.headers['x-request-id'];
    const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : ids.next();
    const { path, search } = locate(request.url);
    return answer({ request, response, requestId, path, search, trail: undefined, admittedAt: 0 });
  });
  return app;
};
