import type { ServerResponse } from 'node:http';

/**
 * Calls back once when a response is sent or its connection is closed. A response that waits for earlier ones of its
 * connection gets no `close` event when the connection closes. So `Pipelined` starts only requests whose answers need
 * not wait.
 */
export const whenAnswered = (response: ServerResponse, callback: () => void): void => {
  if (response.closed || response.req.socket.destroyed) callback();
  else response.once('close', callback);
};
