import { connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { ELSEWHERE } from './names.ts';

/** Peers that connect and then misbehave, over plain TCP. */

const REOPEN_MS = 500;

/** Keeps `count` connections open until the signal, and opens a new one for each connection that was closed. */
const keepOpen = async (
  count: number,
  port: number,
  signal: AbortSignal,
  begin: (socket: Socket, nth: number) => void,
): Promise<void> => {
  const one = async (nth: number): Promise<void> => {
    while (!signal.aborted) {
      const socket = connect({ port, host: '127.0.0.1', localAddress: ELSEWHERE });
      const abort = (): void => {
        socket.destroy();
      };
      signal.addEventListener('abort', abort, { once: true });
      await new Promise<void>((resolve) => {
        socket.once('connect', () => begin(socket, nth));
        socket.once('error', () => resolve());
        socket.once('close', () => resolve());
      });
      signal.removeEventListener('abort', abort);
      socket.destroy();
      if (!signal.aborted) await delay(REOPEN_MS);
    }
  };
  await Promise.all(Array.from({ length: count }, (_, nth) => one(nth)));
};

const handshake = (token: string): string =>
  `GET /api/v1/ws?after=1 HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n` +
  `Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${Buffer.alloc(16, 1).toString('base64')}\r\n` +
  `Authorization: Bearer ${token}\r\n\r\n`;

/** An empty, masked pong. */
const PONG = Buffer.from([0x8a, 0x80, 0, 0, 0, 0]);
const PONG_MS = 5000;

/** WebSockets that request a full replay, stop reading after the first bytes, and send pongs. */
export const holdReplays = (
  port: number,
  tokens: readonly string[],
  count: number,
  signal: AbortSignal,
): Promise<void> =>
  keepOpen(count, port, signal, (socket, nth) => {
    socket.write(handshake(tokens[nth % tokens.length] ?? ''));
    socket.once('data', () => socket.pause());
    const pongs = setInterval(() => socket.write(PONG), PONG_MS);
    socket.once('close', () => clearInterval(pongs));
  });

/** WebSockets that request a full replay, read it for two seconds, and reconnect. */
export const readReplays = (
  port: number,
  tokens: readonly string[],
  count: number,
  signal: AbortSignal,
): Promise<void> =>
  keepOpen(count, port, signal, (socket, nth) => {
    socket.write(handshake(tokens[nth % tokens.length] ?? ''));
    socket.resume();
    setTimeout(() => socket.destroy(), 2000).unref();
  });

const UNREAD = 260;
const ANONYMOUS = 1000;

/** Requests large answers without reading them: lists of records with users' tokens, and the public API document. */
export const holdAnswers = async (
  port: number,
  tokens: readonly string[],
  signal: AbortSignal,
): Promise<void> => {
  const ask = (path: string, authorization: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n${authorization}\r\n`;
  await Promise.all([
    keepOpen(UNREAD, port, signal, (socket, nth) => {
      socket.pause();
      const token = tokens[nth % tokens.length] ?? '';
      socket.write(
        ask('/api/v1/tenant/entities/crate/records?limit=200', `Authorization: Bearer ${token}\r\n`).repeat(
          8,
        ),
      );
    }),
    keepOpen(ANONYMOUS, port, signal, (socket) => {
      socket.pause();
      socket.write(ask('/openapi.json', '').repeat(4));
    }),
  ]);
};
