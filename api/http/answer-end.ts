import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const open = new WeakMap<Socket, Set<() => void>>();

const ofConnection = (connection: Socket): Set<() => void> => {
  const known = open.get(connection);
  if (known !== undefined) return known;
  const all = new Set<() => void>();
  open.set(connection, all);
  connection.once('close', () => {
    for (const done of all) done();
  });
  return all;
};

/**
 * Calls back once when an answer is sent or its connection is closed. An answer that waits behind others of its
 * connection has no `close` event of its own then.
 */
export const whenAnswered = (response: ServerResponse, callback: () => void): void => {
  const connection = response.req.socket;
  if (response.closed || connection.destroyed) {
    callback();
    return;
  }
  const all = ofConnection(connection);
  const done = (): void => {
    if (all.delete(done)) callback();
  };
  all.add(done);
  response.once('close', done);
};
