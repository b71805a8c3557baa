import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createServer, type Server as Listener, type ListenOptions } from 'node:net';
import { ConnectionQueue } from './connection-queue.ts';

/** Listening sockets of the server: one, or several where the system distributes connections among them. */

/**
 * Number of listening sockets. Node accepts one connection of each socket in a tick. With a single socket, the last of
 * a thousand connections would wait for a thousand ticks (decision 73).
 */
const SOCKETS = 16;

/**
 * Connections that may wait at one socket to be accepted; the system may allow fewer. Clients retry further connections
 * after 1 s or more.
 */
const BACKLOG = 4096;

/** Whether the system divides connections among sockets with `SO_REUSEPORT`. */
const DIVIDES = process.platform === 'linux';

export interface Address {
  /** 0 for any free port. */
  readonly port: number;
  readonly host: string;
}

/** Further listening sockets of a server, and the queue of new connections accepted on these sockets. */
const others = new WeakMap<
  Server,
  { readonly listeners: readonly Listener[]; readonly queue: ConnectionQueue }
>();

const listenOn = async (listener: Listener, options: ListenOptions): Promise<void> => {
  listener.listen({ backlog: BACKLOG, ...options });
  await once(listener, 'listening');
};

/**
 * Checks that the port is free, or finds a free one for 0. Call it before sockets share the port (`SO_REUSEPORT`):
 * such sockets would also share the port with another program, without an error.
 * @throws when another process uses the port
 */
export const freePort = async (address: Address): Promise<number> => {
  const probe = createServer();
  await listenOn(probe, address);
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
};

/**
 * Makes the server listen.
 * @param isMember whether this process is one of several on one port, which the supervisor has found free
 * @throws when another process uses the port
 */
export const listen = async (server: Server, address: Address, isMember: boolean): Promise<void> => {
  if (!DIVIDES && !isMember) {
    await listenOn(server, address);
    return;
  }
  const port = isMember ? address.port : await freePort(address);
  const shared = { ...address, port, reusePort: true };
  await listenOn(server, shared);
  // The options that Node's HTTP server uses.
  const options = { allowHalfOpen: true, noDelay: true };
  const queue = new ConnectionQueue(server);
  const listeners = Array.from({ length: SOCKETS - 1 }, () =>
    createServer(options, (connection) => queue.add(connection)),
  );
  others.set(server, { listeners, queue });
  await Promise.all(listeners.map((listener) => listenOn(listener, shared)));
};

const allOf = (server: Server): readonly Listener[] => [server, ...(others.get(server)?.listeners ?? [])];

/** Accepts no more connections; resolves when the last connection has ended. */
export const stopListening = async (server: Server): Promise<void> => {
  others.get(server)?.queue.close();
  await Promise.all(
    allOf(server).map((listener) => new Promise<void>((resolve) => listener.close(() => resolve()))),
  );
};

export const openConnections = async (server: Server): Promise<number> => {
  const counts = allOf(server).map(
    (listener) => new Promise<number>((resolve) => listener.getConnections((_, count) => resolve(count))),
  );
  return (await Promise.all(counts)).reduce((all, count) => all + count, 0);
};
