import type { ServerResponse } from 'node:http';
import type { Request } from 'express';
import type { Principal } from '../../application/core/commands/principal.ts';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';
import type { Span } from '../../application/ports/tracing.ts';
import { sliceOwnerOf } from './checks.ts';
import type { ConcurrentReads, ReleaseSlot } from './concurrent-reads.ts';
import { type ErrorAnswer, errorText } from './errors.ts';
import type { RequestLog } from './impersonation-log.ts';
import { type PendingAnswers, STREAM_BYTES } from './pending-answers.ts';
import type { HeaderValues, Reply } from './route.ts';
import { endSource, isStreamed, sendStream } from './stream.ts';

/** A request with its response, for every step of the pipeline. */
export interface Exchange {
  readonly request: Request;
  readonly response: ServerResponse;
  readonly requestId: string;
  /** Undefined when the request is not traced. */
  readonly span: Span | undefined;
  /** The path without the query, percent-encoded. */
  readonly path: string;
  /** The text after `?`; empty without a query. */
  readonly search: string;
  /** Set once the credential turns out to be an impersonation. */
  impersonationLog: RequestLog | undefined;
  /** When the check of the credential began, in monotonic ms. */
  admittedAt: number;
  /** Set once the credential was checked, also for a request that is then refused. */
  principal: Principal | undefined;
  /** `RateLimit` and `RateLimit-Policy`, once the request was counted. */
  limitHeaders: Readonly<Record<string, string>> | undefined;
  readonly pending: PendingAnswers;
  readonly reads: ConcurrentReads;
  /** Releases the slot of a read; called once the answer was handed to the connection. */
  releaseReadSlot: ReleaseSlot | undefined;
}

/** Headers of CORS, which an error answer keeps. */
const OF_CORS = /^(?:access-control-|vary$)/;

/** `Content-Type` of JSON bodies. */
export const JSON_TYPE = 'application/json; charset=utf-8';

/** Public paths, with and without `/api/v1`. They may hold a credential, so they must not be sent as a referrer. */
const PUBLIC = /^(?:\/api\/v1)?\/public(?:\/|$)/;

/** The headers of an answer: those of every answer, and its own, which replace them. */
const headersWith = ({ requestId, path, limitHeaders }: Exchange, own: HeaderValues): HeaderValues => ({
  'X-Request-Id': requestId,
  'Cache-Control': 'no-store',
  'X-Content-Type-Options': 'nosniff',
  ...limitHeaders,
  ...(PUBLIC.test(path) ? { 'Referrer-Policy': 'no-referrer' } : {}),
  ...own,
});

/** Adds to the `Vary` of CORS instead of replacing it. */
const writeHead = (response: ServerResponse, status: number, headers: HeaderValues): void => {
  const { Vary, ...others } = headers;
  if (Vary === undefined) response.writeHead(status, headers);
  else response.appendHeader('Vary', Vary).writeHead(status, others);
};

/** Builds the `next` link: the same path, with the reply's parameters replacing those of the request. */
const linkToNext = ({ path, search }: Exchange, next: Readonly<Record<string, string>>): string => {
  const parameters = new URLSearchParams(search);
  for (const [name, value] of Object.entries(next)) parameters.set(name, value);
  return `<${path}?${parameters.toString()}>; rel="next"`;
};

/** Bytes of a body that are written at a time; the client's progress is seen in steps of this size. */
const PART = 64 * 1024;

const end = (exchange: Exchange, status: number, headers: HeaderValues, body: string | Uint8Array): void => {
  const { response, pending, principal } = exchange;
  const bytes = Buffer.byteLength(body);
  writeHead(response, status, { ...headers, 'Content-Length': String(bytes) });
  if (bytes <= PART) {
    response.end(body);
    pending.sent(response, principal, bytes);
  } else if (typeof body === 'string') {
    endInParts(exchange, Buffer.from(body));
    pending.watch(response, principal, bytes);
  } else {
    // The process holds these bytes anyway, once for all readers.
    endInParts(exchange, body);
    pending.watch(response, principal, STREAM_BYTES);
  }
};

/**
 * Writes a body in parts: each part in its own slice, after the connection has taken the part before. A single write
 * would copy the whole body in one tick.
 */
const endInParts = ({ response, principal }: Exchange, body: Uint8Array): void => {
  const slice = timeSlices.of(sliceOwnerOf(principal), 'answer');
  let at = 0;
  const more = (): void => {
    // The client may have disconnected meanwhile.
    if (response.destroyed) return;
    while (at < body.length) {
      const part = body.subarray(at, at + PART);
      at += part.length;
      if (!response.write(part)) {
        response.once('drain', () => void slice.next().then(more));
        return;
      }
    }
    response.end();
  };
  more();
};

/** A reply's own headers, its position, and the link to its next page, as sent and as stored for an idempotency key. */
export const replyHeaders = (exchange: Exchange, reply: Reply): Record<string, string> => ({
  ...reply.headers,
  ...(reply.position === undefined ? {} : { 'X-Event-Position': reply.position }),
  ...(reply.next === undefined ? {} : { Link: linkToNext(exchange, reply.next) }),
});

/** Sends a reply as JSON. If the reply sets `Content-Type`, a text, bytes or a stream is sent unchanged instead. */
export const send = (exchange: Exchange, reply: Reply): void => {
  const { request, response } = exchange;
  const { status, body } = reply;
  const headers = headersWith(exchange, replyHeaders(exchange, reply));
  if (body === undefined) {
    const hasLength = status !== 204 && status !== 304;
    writeHead(response, status, hasLength ? { ...headers, 'Content-Length': '0' } : headers);
    response.end();
  } else if (headers['Content-Type'] === undefined) {
    end(exchange, status, { ...headers, 'Content-Type': JSON_TYPE }, JSON.stringify(body));
  } else if (typeof body === 'string' || body instanceof Uint8Array) {
    end(exchange, status, headers, body);
  } else if (!isStreamed(body)) {
    end(exchange, status, headers, JSON.stringify(body));
  } else {
    writeHead(response, status, headers);
    if (request.method === 'HEAD') {
      response.end();
      endSource(body);
    } else {
      exchange.pending.watch(response, exchange.principal, STREAM_BYTES);
      sendStream(response, body);
    }
  }
};

export const sendError = (exchange: Exchange, { status, headers = {}, body }: ErrorAnswer): void => {
  const { response } = exchange;
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // A reply that could not be sent may have set headers.
  for (const name of response.getHeaderNames()) if (!OF_CORS.test(name)) response.removeHeader(name);
  const all = headersWith(exchange, { ...headers, 'Content-Type': JSON_TYPE });
  end(exchange, status, all, errorText(body, exchange.requestId));
};
