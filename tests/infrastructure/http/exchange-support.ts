import { createServer, type Socket } from 'node:net';
import type { OutboundAnswer, OutboundRequest } from '../../../application/ports/outbound-http.ts';
import { type GuardOptions, guardedHttp } from '../../../infrastructure/http/guarded-http.ts';
import { stopProviders } from '../../support/identity-provider.ts';

/** A guard that allows calls to loopback by plain http. */
export const guard = (own: Partial<GuardOptions> = {}) =>
  guardedHttp({ allowedNetworks: ['127.0.0.0/8'], allowHttp: true, ...own });

export const CALL = {
  method: 'POST',
  headers: {},
  body: 'body',
  timeoutMs: 5_000,
  maxResponseBytes: 1_000,
} as const;

export const call = (url: string, own: Partial<OutboundRequest> = {}, options: Partial<GuardOptions> = {}) =>
  guard(options).request({ ...CALL, url, ...own });

export const answered = (answer: OutboundAnswer) => {
  if (answer.kind !== 'answered') throw new Error(`${answer.kind}: ${answer.reason} ${answer.message}`);
  return answer;
};

const stops: (() => Promise<void>)[] = [];

/** A server that sends the given text, or calls the given function, once data has arrived. */
export const rawServer = async (act: string | ((socket: Socket) => void)) => {
  const sockets = new Set<Socket>();
  const heard: string[] = [];
  const seen = { connections: 0 };
  const server = createServer((socket) => {
    seen.connections += 1;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.once('data', (chunk) => {
      heard.push(chunk.toString());
      if (typeof act === 'string') socket.end(act);
      else act(socket);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  stops.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const found = server.address();
  if (found === null || typeof found === 'string') throw new Error('no port');
  return { origin: `http://127.0.0.1:${found.port}`, port: found.port, sockets, heard, seen };
};

export const HEAD = 'HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n';

/** Stops every server of the suite. */
export const stopServers = async (): Promise<void> => {
  await stopProviders();
  await Promise.all(stops.splice(0).map((stop) => stop()));
};
