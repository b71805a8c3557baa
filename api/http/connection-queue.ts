import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import { timeSlices } from '../../application/core/concurrency/time-slices.ts';

const ignore = (): void => undefined;

/**
 * Accepted connections whose first request is not parsed yet. Each waits for a time slice, because parsing the first
 * requests of a thousand connections in one tick would delay all others. Addresses get equal shares (decision 74).
 */
export class ConnectionQueue {
  readonly #server: Server;
  readonly #waiting = new Set<Socket>();

  /** @param server gets each connection as a `connection` event */
  constructor(server: Server) {
    this.#server = server;
  }

  /** Takes a connection that was just accepted. */
  add(connection: Socket): void {
    this.#waiting.add(connection);
    const close = (): void => void connection.destroy();
    connection.on('error', ignore).once('close', () => this.#waiting.delete(connection));
    // Until the server gets the connection, closes it when it ends or stays idle for `headersTimeout`.
    connection.once('end', close).setTimeout(this.#server.headersTimeout, close);
    connection.once('readable', async () => {
      const wait = timeSlices.of(`address ${connection.remoteAddress}`, 'connection').begin();
      if (wait !== undefined) await wait;
      if (!this.#waiting.delete(connection)) return;
      connection.off('error', ignore).off('end', close).setTimeout(0, close);
      this.#server.emit('connection', connection);
      connection.resume();
    });
  }

  /** Closes the connections that wait. */
  close(): void {
    for (const connection of this.#waiting) connection.destroy();
  }
}
