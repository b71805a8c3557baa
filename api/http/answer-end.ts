import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const pendingCallbacks = new WeakMap<Socket, Set<() => void>>();

const callbacksOf = (connection: Socket): Set<() => void> => {
  const known = pendingCallbacks.get(connection);
  if (known !== undefined) return known;
  const all = new Set<() => void>();
  pendingCallbacks.set(connection, all);
  connection.once('close', () => {
    for (const done of all) done();
  });
  return all;
};

/**
 * Calls back once when a response is sent or its connection is closed. Listens to the connection, too: a pipelined
 * response that waits for earlier responses gets no `close` event when the connection closes.
 */
export const whenAnswered = (response: ServerResponse, callback: () => void): void => {
  const connection = response.req.socket;
  if (response.closed || connection.destroyed) {
    callback();
    return;
  }
  const all = callbacksOf(connection);
  const done = (): void => {
    if (all.delete(done)) callback();
  };
  all.add(done);
  response.once('close', done);
};
