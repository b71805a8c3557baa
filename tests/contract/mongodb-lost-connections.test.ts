import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import { expect } from 'chai';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { openMongoKeyStore } from '../../infrastructure/key-store/mongodb.ts';
import { describeWithMongo, type TestDatabase } from '../support/mongodb-server.ts';

/** A proxy that closes connections instead of passing on a command. */
const startCuttingProxy = async (target: string) => {
  const { hostname, port: targetPort } = new URL(target);
  const sockets = new Set<Socket>();
  let words: readonly string[] = [];
  let cutsLeft = 0;
  const server = createServer((client) => {
    const backend = connect(Number(targetPort), hostname);
    const end = (): void => {
      client.destroy();
      backend.destroy();
    };
    for (const socket of [client, backend]) {
      sockets.add(socket);
      socket.on('error', end).on('close', end);
    }
    client.on('data', (chunk) => {
      if (cutsLeft > 0 && words.every((word) => chunk.includes(word))) {
        cutsLeft -= 1;
        end();
      } else backend.write(chunk);
    });
    backend.pipe(client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `mongodb://127.0.0.1:${address.port}`,
    /** Closes the connection of the next `times` commands that contain all words. */
    cut: (times: number, ...all: readonly string[]) => {
      cutsLeft = times;
      words = all;
    },
    cutsLeft: () => cutsLeft,
    stop: () => {
      for (const socket of sockets) socket.destroy();
      server.close();
    },
  };
};

await describeWithMongo('A key store whose connection is lost', (title, start) => {
  describe(title, function () {
    this.timeout(30_000);
    let database: TestDatabase;
    let proxy: Awaited<ReturnType<typeof startCuttingProxy>>;

    before(async () => {
      database = start();
      proxy = await startCuttingProxy(database.url);
    });
    after(async () => {
      proxy?.stop();
      await database?.dispose();
    });

    const opened = () => openMongoKeyStore({ url: proxy.url, dbName: database.dbName });

    it('stores the keys by a retry', async () => {
      const keys = await opened();
      const wrapped = randomBytes(32);
      proxy.cut(2, 'insert', 'data_keys');
      await keys.put([
        { id: 'retried-1', wrapped },
        { id: 'retried-2', wrapped },
      ]);
      expect(proxy.cutsLeft()).to.equal(0);
      const found = await keys.getMany(['retried-1', 'retried-2']);
      expect(found.map((key) => Buffer.from(key as Uint8Array))).to.deep.equal([wrapped, wrapped]);
      await keys.close();
    });

    it('fails with StoreUnavailable when no retry succeeds, and never claims that keys are stored', async () => {
      const keys = await opened();
      proxy.cut(Number.POSITIVE_INFINITY, 'insert', 'data_keys');
      const outcome = await keys
        .put([{ id: 'lost', wrapped: randomBytes(32) }])
        .catch((error: unknown) => error);
      proxy.cut(0);
      expect(outcome).to.be.instanceOf(StoreUnavailable);
      expect(await keys.getMany(['lost'])).to.deep.equal([undefined]);
      await keys.close();
    });
  });
});
