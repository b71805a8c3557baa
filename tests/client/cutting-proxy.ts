import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A proxy that cuts connections to a server at random. */
export interface CuttingProxy {
  readonly url: string;
  readonly cuts: number;
  /** Cuts the open connections, and then later connections, until it has made this many more cuts. */
  cut(more: number): void;
  /** The bytes of the server that each cut connection had received. */
  readonly received: readonly number[];
  close(): void;
}

/**
 * Cuts each connection after a random number of the server's bytes or of milliseconds, whichever comes first. The
 * milliseconds count from the first byte; for a tenth of the connections from their start. Stops after `cuts`.
 */
export const startCuttingProxy = async (
  port: number,
  { cuts: first, bytes, ms }: { readonly cuts: number; readonly bytes: number; readonly ms: number },
): Promise<CuttingProxy> => {
  let cuts = 0;
  let wanted = first;
  const received: number[] = [];
  const open = new Map<Socket, () => void>();
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    let left = Math.floor(Math.random() * bytes);
    let seen = 0;
    const end = (): void => {
      clearTimeout(timer);
      client.destroy();
      upstream.destroy();
      open.delete(client);
    };
    const cut = (): void => {
      if (!open.has(client) || cuts >= wanted) return;
      cuts += 1;
      received.push(seen);
      end();
    };
    let timer = Math.random() < 0.1 ? setTimeout(cut, Math.random() * ms) : undefined;
    open.set(client, cut);
    for (const side of [client, upstream]) side.on('error', end).on('close', end);
    client.on('data', (chunk) => upstream.write(chunk));
    upstream.on('data', (chunk) => {
      timer ??= setTimeout(cut, Math.random() * ms);
      if (cuts >= wanted || chunk.length <= left) {
        left -= chunk.length;
        seen += chunk.length;
        client.write(chunk);
        return;
      }
      // The part before the cut still arrives.
      seen += left;
      client.write(chunk.subarray(0, left), cut);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port: own } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${own}`,
    get cuts() {
      return cuts;
    },
    cut: (more) => {
      wanted += more;
      for (const end of [...open.values()]) end();
    },
    received,
    close: () => {
      server.close();
      for (const socket of open.keys()) socket.destroy();
    },
  };
};
