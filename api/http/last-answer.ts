import type { Duplex } from 'node:stream';
import { clearTimeout, setTimeout } from '../../application/core/runtime/timers.ts';

// Not imported, for the reason in `server.ts`.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** Time (ms) from the end of sending in which the client closes its side; then the connection is destroyed. */
const LINGER_MS = 5000;

/** Sends one JSON answer on a connection that Node's HTTP server has handed over, then ends the connection. */
export const lastAnswer = (
  socket: Duplex,
  status: number,
  headers: Readonly<Record<string, string>>,
  body: string,
): void => {
  const own = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  // Earlier answers of the connection, which the client may still read, are sent before.
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n` +
      'Content-Type: application/json; charset=utf-8\r\n' +
      own.join('') +
      `Content-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`,
    () => {
      const timer = setTimeout(() => socket.destroy(), LINGER_MS);
      timer.unref();
      socket.once('close', () => clearTimeout(timer));
    },
  );
};
