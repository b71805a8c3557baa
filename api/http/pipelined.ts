import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { whenAnswered } from './answer-end.ts';

/** Maximum of unanswered requests of one connection. */
const MAX_UNANSWERED = 64;

interface Line {
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
  readonly #lines = new WeakMap<Socket, Line>();
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
    const line = this.#lines.get(socket) ?? { open: 0, starts: [] };
    this.#lines.set(socket, line);
    const { starts } = line;
    const isFirst = line.open === 0;
    const begin = (): void => {
      if (response.socket !== null && !socket.destroyed) start();
    };
    line.open += 1;
    whenAnswered(response, () => {
      line.open -= 1;
      starts.shift()?.();
    });
    if (line.open > MAX_UNANSWERED && !socket.destroyed) {
      socket.destroy();
      this.#onCut();
    }
    if (isFirst) begin();
    else starts.push(begin);
  }
}
