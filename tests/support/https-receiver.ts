import { writeFile } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createServer as createSecureServer, type TLSSocket } from 'node:tls';
import { type Authority, makeAuthority } from './certificates.ts';
import { newDataFolder } from './server.ts';
import { type Behaviour, type Receiver, type ReceiverOptions, startReceiver } from './webhook-receiver.ts';

/** HTTPS receivers with certificates of a test authority, which servers under test trust by their environment. */

export const AUTHORITY: Authority = makeAuthority('An authority of the tests');
const CERTIFICATE = AUTHORITY.issue(['127.0.0.1', 'hooks.example', 'moves.example']);

/** Environment of a server that may call loopback, by https only. */
export const secureEnvironment = async (): Promise<Record<string, string>> => {
  const file = join(await newDataFolder(), 'authority.pem');
  await writeFile(file, AUTHORITY.certificate);
  return {
    NODE_EXTRA_CA_CERTS: file,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    WEBHOOK_RETRY_SECONDS: '0.05,0.05,0.05,0.05',
    WEBHOOK_TIMEOUT_MS: '2000',
  };
};

export const startSecureReceiver = (first?: Behaviour, own: ReceiverOptions = {}): Promise<Receiver> =>
  startReceiver(first, { certificate: CERTIFICATE, ...own });

const servers: { server: Server; sockets: Set<Socket> }[] = [];
export const closeRawReceivers = async (): Promise<void> => {
  for (const { server, sockets } of servers.splice(0)) {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  }
};

const opened = async (server: Server, port: number): Promise<number> => {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
  });
  servers.push({ server, sockets });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  const found = server.address();
  if (found === null || typeof found === 'string') throw new Error('no port');
  return found.port;
};

/** Runs `act` on a connection once a request has begun to arrive. @returns the receiver's URL */
export const startRawReceiver = async (
  act: (socket: TLSSocket, nth: number) => void,
  certificate: { key: string; cert: string } = CERTIFICATE,
): Promise<string> => {
  let calls = 0;
  const server = createSecureServer({ ...certificate, allowHalfOpen: true }, (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      calls += 1;
      act(socket, calls);
    });
  }).on('tlsClientError', () => undefined);
  return `https://127.0.0.1:${await opened(server, 0)}/hook`;
};

/** Accepts connections and sends nothing. */
export const startMuteListener = async (onConnection: (socket: Socket) => void): Promise<number> =>
  opened(createServer(onConnection), 0);
