import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { DomainError } from '../../domain/core/errors.ts';
import { bearerToken } from '../http/authorization.ts';
import { type ErrorAnswer, errorText } from '../http/errors.ts';
import { lastAnswer } from '../http/last-answer.ts';

/**
 * The token of `?token=` or `Authorization`; without these, of the subprotocol pair `bearer, <jwt>`. Refuses a repeated
 * `?token=`, and a header whose token differs from `?token=`.
 * @throws `invalid_credential`
 */
export const tokenOf = (request: IncomingMessage, url: URL): string | undefined => {
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

/** Answers an upgrade like any refused request. */
export const refuseUpgrade = (
  socket: Duplex,
  { status, headers, body }: ErrorAnswer,
  requestId: string,
): void => {
  lastAnswer(socket, status, { ...headers, 'X-Request-Id': requestId }, errorText(body, requestId));
};
