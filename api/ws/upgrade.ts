import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { UserPrincipal } from '../../application/core/commands/principal.ts';
import type { Authentication } from '../../application/identity/authentication.ts';
import type { EventStore, Position } from '../../application/ports/event-store.ts';
import { DomainError, invalid } from '../../domain/core/errors.ts';
import { bearerToken } from '../http/authorization.ts';
import { checkNamed } from '../http/checks.ts';
import { checkOrigin } from '../http/cors.ts';
import { type ErrorAnswer, errorText } from '../http/errors.ts';
import { type AppendLine, impersonationLogOf, logged } from '../http/impersonation-log.ts';
import { lastAnswer } from '../http/last-answer.ts';
import { checkQueryNames, queryOf } from '../http/query.ts';
import { countRequest, type RateLimits } from '../http/rate-limits.ts';
import { checkHost } from '../http/server.ts';
import { SOCKET_PATH } from '../http/socket-path.ts';

export interface HandshakeDeps {
  /** The same as `catchUp` of the HTTP pipeline. */
  readonly catchUp?: (() => Promise<void>) | undefined;
  readonly authentication: Pick<Authentication, 'authenticate' | 'expiryOf'>;
  readonly events: Pick<EventStore, 'parsePosition'>;
  readonly limits: Pick<RateLimits, 'request' | 'ofTenant'>;
  /** Origins whose pages may connect, in addition to the server's own. */
  readonly origins?: readonly string[];
  readonly appendLine: AppendLine;
}

export interface Handshake {
  readonly token: string;
  readonly principal: UserPrincipal;
  readonly after: Position | undefined;
  /** In ms. */
  readonly expiresAt: number;
}

/** The route as the impersonation log names it. */
const ROUTE = { method: 'get', path: SOCKET_PATH, operationId: 'openSocket' } as const;

/**
 * The token of `?token=` or `Authorization`; without these, of the subprotocol pair `bearer, <jwt>`. Refuses a repeated
 * `?token=`, and a header whose token differs from `?token=`.
 * @throws `invalid_credential`
 */
const tokenOf = (request: IncomingMessage, url: URL): string | undefined => {
  const [query, ...more] = url.searchParams.getAll('token');
  const header = bearerToken(request);
  if (more.length > 0 || (query !== undefined && header !== undefined && query !== header)) {
    throw new DomainError('invalid_credential', 'The credential is not valid.');
  }
  const given = query ?? header;
  if (given !== undefined) return given;
  const [scheme, token] = (request.headers['sec-websocket-protocol'] ?? '')
    .split(',')
    .map((part) => part.trim());
  return scheme === 'bearer' ? token : undefined;
};

/**
 * @param checkRoom throws when this node takes no further socket of the principal
 * @throws {DomainError} for a request that gets no socket
 */
export const checkHandshake = async (
  request: IncomingMessage,
  requestId: string,
  { catchUp, authentication, events, limits, origins = [], appendLine }: HandshakeDeps,
  checkRoom: (principal: UserPrincipal) => void,
): Promise<Handshake> => {
  checkHost(request);
  const target = request.url ?? '';
  const url = URL.parse(target, 'http://localhost');
  // One spelling, as for every route: the URL parser would also accept `//x/api/v1/ws` and `/y/%2e%2e/api/v1/ws`.
  const path = target.startsWith('/') ? target.split('?', 1)[0] : url?.pathname;
  if (url === null || path !== SOCKET_PATH) throw new DomainError('not_found', 'No such resource.');
  const token = tokenOf(request, url);
  await catchUp?.();
  const principal = await authentication.authenticate(token, 'tenant');
  if (principal.kind !== 'user' || token === undefined) {
    throw new DomainError('invalid_credential', 'The credential is not valid.');
  }
  const noParams = (): undefined => undefined;
  const log = impersonationLogOf(request, requestId, ROUTE, principal, noParams, appendLine);
  return logged(log, 101, () => {
    countRequest(limits, principal);
    checkOrigin(request, origins);
    const query = queryOf(url.search.slice(1));
    checkNamed(principal, query);
    checkQueryNames(query, ['token', 'after']);
    const [given, ...more] = url.searchParams.getAll('after');
    const after = given === undefined ? undefined : events.parsePosition(given);
    if (more.length > 0 || (given !== undefined && after === undefined)) {
      throw invalid([{ path: 'after', code: 'invalid_format', message: 'after is not one position.' }]);
    }
    checkRoom(principal);
    return { token, principal, after, expiresAt: authentication.expiryOf(token) };
  });
};

/** Answers an upgrade like any refused request. */
export const refuseUpgrade = (
  socket: Duplex,
  { status, headers, body }: ErrorAnswer,
  requestId: string,
): void => {
  lastAnswer(socket, status, { ...headers, 'X-Request-Id': requestId }, errorText(body, requestId));
};
