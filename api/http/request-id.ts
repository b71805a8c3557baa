import type { IncomingMessage } from 'node:http';
import type { Ids } from '../../application/ports/clock.ts';

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/;

/** `X-Request-Id` of a request if it is valid, otherwise a new id. */
export const requestIdOf = ({ headers }: IncomingMessage, ids: Ids): string => {
  const given = headers['x-request-id'];
  return typeof given === 'string' && REQUEST_ID.test(given) ? given : ids.next();
};
