import { DomainError } from '../../domain/core/errors.ts';
import { methodNotAllowed } from './errors.ts';

/** The path of the WebSocket, which has no route: `api/ws` serves its upgrades. */
export const SOCKET_PATH = '/api/v1/ws';

/** Methods of {@link SOCKET_PATH}, the value of `Allow`. */
export const SOCKET_METHODS: readonly string[] = ['GET', 'OPTIONS'];

/** The error for a request without an upgrade: 426 for GET and HEAD, 405 for other methods. */
export const notAnUpgrade = (method: string): DomainError =>
  method === 'GET' || method === 'HEAD'
    ? new DomainError('upgrade_required', 'This path is a WebSocket. Connect with a WebSocket client.')
    : methodNotAllowed(SOCKET_METHODS);
