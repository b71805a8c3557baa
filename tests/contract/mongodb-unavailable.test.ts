import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { expect } from 'chai';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { openMongoIdempotencyStore } from '../../infrastructure/idempotency/mongodb.ts';
import { openMongoKeyStore } from '../../infrastructure/key-store/mongodb.ts';
import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';

/** Needs no MongoDB. The API answers 503 for these errors. */
describe('MongoDB adapters without a server', function () {
  this.timeout(30_000);
  const openers = [openMongoReadStore, openMongoKeyStore, openMongoIdempotencyStore];

  async function allUnavailable(url: string): Promise<void> {
    const started = Date.now();
    const outcomes = await Promise.allSettled(openers.map((open) => open({ url })));
    for (const outcome of outcomes) {
      expect(outcome.status).to.equal('rejected');
      if (outcome.status === 'rejected') expect(outcome.reason).to.be.instanceOf(StoreUnavailable);
    }
    expect(Date.now() - started).to.be.lessThan(12_000);
  }

  it('report StoreUnavailable when the connection is refused', () => allUnavailable('mongodb://127.0.0.1:1'));

  it('report StoreUnavailable when the server accepts the connection and does not answer', async () => {
    const sockets = new Set<Socket>();
    const silent: Server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
    silent.listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const address = silent.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    try {
      await allUnavailable(`mongodb://127.0.0.1:${address.port}`);
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });
});
