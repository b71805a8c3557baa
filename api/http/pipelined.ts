import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { whenAnswered } from './answer-end.ts';

/** Requests of one connection that wait for the answers before theirs. */
const MAX_WAITING = 64;

interface Line {
  waiting: number;
  /** Resolves when the newest request of the connection is answered. */
  last: Promise<void>;
}

/**
 * Serves the requests of a connection one after the other, as their answers are sent. Otherwise a client could have
 * hundreds of answers made at once that wait behind the first.
 */
export class Pipelined {
  readonly #lines = new WeakMap<Socket, Line>();
  readonly #onCut: () => void;

  /** @param onCut called when a connection was closed for too many waiting requests */
  constructor(onCut: () => void) {
    this.#onCut = onCut;
  }

  /** Waits until the earlier requests of the connection are answered; undefined without one. */
  turn({ socket }: IncomingMessage, response: ServerResponse): Promise<void> | undefined {
    const line = this.#lines.get(socket) ?? { waiting: 0, last: Promise.resolve() };
    this.#lines.set(socket, line);
    const before = line.waiting === 0 ? undefined : line.last;
    line.waiting += 1;
    const { promise, resolve } = Promise.withResolvers<void>();
    line.last = promise;
    whenAnswered(response, () => {
      line.waiting -= 1;
      resolve();
    });
    if (line.waiting > MAX_WAITING && !socket.destroyed) {
      socket.destroy();
      this.#onCut();
    }
    return before;
  }
}
