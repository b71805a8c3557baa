import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import type { ErrorAnswer } from './errors.ts';
import type { Reply } from './route.ts';
import { isStreamed, letGo, sendStream } from './stream.ts';
import type { RequestTrail } from './trail.ts';

/** One request and its answer: what every step of the pipeline needs, gathered once. */
export interface Exchange {
  readonly request: Request;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** The path without the query, percent-encoded. */
  readonly path: string;
  /** The text after `?`; empty without one. */
  readonly search: string;
  /** Set as soon as the credential turns out to be an impersonation's. */
  trail: RequestTrail | undefined;
  /** When its credential was looked at, in ms of the process. */
  admittedAt: number;
}

const JSON_TYPE = 'application/json; charset=utf-8';

/** What strangers see, by either prefix: these paths may hold a credential, which must not travel on. */
const PUBLIC = /^(?:\/api\/v1)?\/public(?:\/|$)/;

/** Sent with every answer; a reply's own headers of the same name go before them. */
const baseHeaders = ({ requestId, path }: Exchange): string[] => {
  const headers = [
    'X-Request-Id',
    requestId,
    'Cache-Control',
    'no-store',
    'X-Content-Type-Options',
    'nosniff',
  ];
  if (PUBLIC.test(path)) headers.push('Referrer-Policy', 'no-referrer');
  return headers;
};

const setAll = (headers: string[], own: Readonly<Record<string, string>>): void => {
  for (const [name, value] of Object.entries(own)) {
    const at = headers.findIndex((known, i) => i % 2 === 0 && known.toLowerCase() === name.toLowerCase());
    if (at < 0) headers.push(name, value);
    else headers[at + 1] = value;
  }
};

/** `next` of a reply as a link to the same path, its parameters put over those of the request. */
const linkToNext = ({ path, search }: Exchange, next: Readonly<Record<string, string>>): string => {
  const parameters = new URLSearchParams(search);
  for (const [name, value] of Object.entries(next)) parameters.set(name, value);
  return `<${path}?${parameters.toString()}>; rel="next"`;
};

const end = (
  response: ServerResponse,
  status: number,
  headers: string[],
  body: string | Uint8Array,
): void => {
  headers.push('Content-Length', String(Buffer.byteLength(body)));
  response.writeHead(status, headers);
  response.end(body);
};

const hasType = (headers: Readonly<Record<string, string>> | undefined): boolean =>
  headers !== undefined && Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');

/** The headers of a reply that an idempotency key keeps: its own, its position and its next page. */
export const replyHeaders = (exchange: Exchange, reply: Reply): Record<string, string> => ({
  ...reply.headers,
  ...(reply.position === undefined ? {} : { 'X-Event-Position': reply.position }),
  ...(reply.next === undefined ? {} : { Link: linkToNext(exchange, reply.next) }),
});

/**
 * Sends a reply: JSON, or, where the reply names its own `Content-Type`, a text, bytes or a stream as they are.
 */
export const send = (exchange: Exchange, reply: Reply): void => {
  const { response } = exchange;
  const { status, body } = reply;
  const headers = baseHeaders(exchange);
  if (reply.position !== undefined) headers.push('X-Event-Position', reply.position);
  if (reply.next !== undefined) headers.push('Link', linkToNext(exchange, reply.next));
  if (reply.headers !== undefined) setAll(headers, reply.headers);
  if (body === undefined) {
    if (status !== 204 && status !== 304) headers.push('Content-Length', '0');
    response.writeHead(status, headers);
    response.end();
    return;
  }
  if (hasType(reply.headers)) {
    if (typeof body === 'string' || body instanceof Uint8Array) {
      end(response, status, headers, body);
      return;
    }
    if (isStreamed(body)) {
      response.writeHead(status, headers);
      if (exchange.request.method === 'HEAD') {
        response.end();
        letGo(body);
        return;
      }
      sendStream(response, body);
      return;
    }
  } else headers.push('Content-Type', JSON_TYPE);
  end(response, status, headers, JSON.stringify(body));
};

export const sendError = (exchange: Exchange, answer: ErrorAnswer): void => {
  const { response } = exchange;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const headers = baseHeaders(exchange);
  if (answer.headers !== undefined) setAll(headers, answer.headers);
  headers.push('Content-Type', JSON_TYPE);
  end(response, answer.status, headers, JSON.stringify(answer.body));
};
