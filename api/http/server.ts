import type { IncomingMessage, RequestListener, Server } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Ids } from '../../application/ports/clock.ts';
import { type ErrorCode, invalid } from '../../domain/core/errors.ts';
import { errorText } from './errors.ts';
import { headerValues } from './header-values.ts';
import { lastAnswer } from './last-answer.ts';

// An import of `node:http` would also load Node's `fetch` and `WebSocket`, which the server does not use (decision 44).
const { createServer } = process.getBuiltinModule('node:http');

/** Status, code and message of a request that Node's parser refuses. */
const refusal = (code: string | undefined): readonly [number, ErrorCode, string] => {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return [431, 'payload_too_large', 'The headers of the request are too large.'];
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return [413, 'payload_too_large', 'The chunk extensions of the request are too large.'];
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return [408, 'validation_failed', 'The request did not arrive in time.'];
    default:
      return [400, 'validation_failed', 'The request is not valid HTTP.'];
  }
};

const refuseRaw = (error: NodeJS.ErrnoException, socket: Duplex, requestId: string): void => {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const [status, code, message] = refusal(error.code);
  const headers = {
    'X-Request-Id': requestId,
    'Cache-Control': 'no-store',
    'X-Content-Type-Options': 'nosniff',
  };
  lastAnswer(socket, status, headers, errorText({ error: code, message }, requestId));
};

/**
 * Requires exactly one `Host` (RFC 9112, 3.2), optional in HTTP/1.0. Node itself would answer a missing `Host`
 * without JSON, and use the first of two.
 * @throws `validation_failed`
 */
export const checkHost = (request: IncomingMessage): void => {
  const hosts = headerValues(request, 'host').length;
  if (hosts > 1) {
    throw invalid([{ path: 'Host', code: 'invalid', message: 'The header Host may be sent only once.' }]);
  }
  if (hosts === 0 && request.httpVersion === '1.1') {
    throw invalid([{ path: 'Host', code: 'required', message: 'The header Host is required.' }]);
  }
};

/** The HTTP server of the application; refusals by Node are JSON as well (specification, Errors). Not listening yet. */
export const createHttpServer = (app: RequestListener, ids: Ids): Server => {
  const options = {
    requireHostHeader: false,
    keepAliveTimeout: 65_000,
    // Ignores other upgrades (`h2c`) and serves the request, as RFC 9110 allows.
    shouldUpgradeCallback: (request: IncomingMessage): boolean =>
      request.headers.upgrade?.toLowerCase() === 'websocket' && server.listenerCount('upgrade') > 0,
  };
  const serve: RequestListener = (request, response) => {
    // Express would answer an invalid target without JSON; `/-` has no route, so the answer is a 404 in JSON.
    if (request.url?.startsWith('/') !== true && URL.parse(request.url ?? '') === null) request.url = '/-';
    app(request, response);
  };
  const server = createServer(options, serve);
  server.on('clientError', (error, socket) => refuseRaw(error, socket, ids.next()));
  // Ignores an unknown expectation, as RFC 9110 allows; Node would answer 417 without a body.
  server.on('checkExpectation', serve);
  return server;
};
