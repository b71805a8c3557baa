import type { IncomingMessage } from 'node:http';
import cors from 'cors';
import type { RequestHandler } from 'express';
import { DomainError } from '../../domain/core/errors.ts';

/** Requests from pages of other origins (decision 48). Credentials are bearer tokens, so no cookie is ever allowed. */

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** Request headers that the API reads, and that a page may set only if a preflight allows them. */
export const READ_HEADERS: readonly string[] = [
  'Authorization',
  'Content-Type',
  'Idempotency-Key',
  'If-Match',
  'If-None-Match',
  'If-Range',
  'Range',
  'X-Min-Position',
  'X-Request-Id',
  'traceparent',
];
/** Answer headers that a page may read, in addition to those that CORS always lets a page read. */
export const EXPOSED_HEADERS: readonly string[] = [
  'Allow',
  'Content-Disposition',
  'ETag',
  'Idempotency-Replayed',
  'Link',
  'RateLimit',
  'RateLimit-Policy',
  'Retry-After',
  'WWW-Authenticate',
  'X-Event-Position',
  'X-Request-Id',
  'X-Total-Count',
];
/** Seconds; the longest time for which Chromium caches a preflight. */
const MAX_AGE = 7200;

/** Sets the headers of CORS on every answer, errors included, and answers preflights. */
export const crossOrigin = (origins: readonly string[]): RequestHandler => {
  const handler = cors({
    origin: [...origins],
    methods: METHODS,
    allowedHeaders: [...READ_HEADERS],
    exposedHeaders: [...EXPOSED_HEADERS],
    maxAge: MAX_AGE,
  });
  return (request, response, next) => {
    const isPlainOptions =
      request.method === 'OPTIONS' && request.headers['access-control-request-method'] === undefined;
    // The application answers a plain `OPTIONS` with `Allow`.
    if (isPlainOptions) next();
    else handler(request, response, next);
  };
};

/**
 * Refuses the handshake of a page of another origin, since browsers let any page open a WebSocket. Clients other than
 * browsers send no `Origin`.
 * @param origins allowed in addition to the server's own
 * @throws {DomainError} `forbidden`
 */
export const checkOrigin = ({ headers }: IncomingMessage, origins: readonly string[]): void => {
  const { origin, host } = headers;
  if (origin === undefined || origins.includes(origin) || isOwn(origin, host)) return;
  throw new DomainError('forbidden', 'Pages of this origin are not allowed to connect.');
};

const PAGE_SCHEMES = ['http:', 'https:'];

/** Compares host and port, but not the scheme, which a proxy may have changed. */
const isOwn = (origin: string, host: string | undefined): boolean => {
  const page = URL.parse(origin);
  if (page === null || !PAGE_SCHEMES.includes(page.protocol) || page.origin !== origin) return false;
  return page.host === URL.parse(`${page.protocol}//${host ?? ''}`)?.host;
};
