import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { whenAnswered } from './answer-end.ts';

/** Maximum of unanswered requests of one connection. */
const MAX_UNANSWERED = 64;

interface RequestQueue {
  /** Requests that are not answered yet. */
  open: number;
  /** Callbacks that start the waiting requests, in order. */
  readonly starts: (() => void)[];
}

/**
 * Serves the requests of a connection one after the other: each starts once the request before was answered. Otherwise
 * a client could make the server hold hundreds of answers that wait for the first answer.
 */
export class Pipelined {
  readonly #queues = new WeakMap<Socket, RequestQueue>();
  readonly #onCut: () => void;

  /** @param onCut called when a connection was closed for too many unanswered requests */
  constructor(onCut: () => void) {
    this.#onCut = onCut;
  }

  /**
   * Calls `start` once the connection's earlier requests are answered. A request whose answer cannot be sent, because an
   * earlier answer ends the connection, never starts.
   */
  serve({ socket }: IncomingMessage, response: ServerResponse, start: () => void): void {
    const queue = this.#queues.get(socket) ?? { open: 0, starts: [] };
    this.#queues.set(socket, queue);
    const { starts } = queue;
    const isFirst = queue.open === 0;
    const begin = (): void => {
      if (response.socket !== null && !socket.destroyed) start();
    };
    queue.open += 1;
    whenAnswered(response, () => {
      queue.open -= 1;
      starts.shift()?.();
    });
    if (queue.open > MAX_UNANSWERED && !socket.destroyed) {
      socket.destroy();
      this.#onCut();
    }
    if (isFirst) begin();
    else starts.push(begin);
  }
}
