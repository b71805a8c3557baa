import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import type { ReadStore } from '../../application/ports/read-store.ts';
import { claimedLeases } from '../../infrastructure/read-store/mongodb/claimed-leases.ts';
import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { describeWithMongo, type TestDatabase } from '../support/mongodb-server.ts';

const HOUR_MS = 3_600_000;

await describeWithMongo('leases of a server whose clock is set back', (title, start) => {
  describe(title, () => {
    let database: TestDatabase;
    let store: ReadStore;
    let client: MongoClient;

    before(async () => {
      database = start();
      store = await openMongoReadStore({ url: database.url, dbName: database.dbName });
      client = new MongoClient(database.url);
    });
    after(async () => {
      await store.close();
      await client.close();
      await database.dispose();
    });

    it('are free when their expiry is later than any lease allows, and get a higher fence', async () => {
      const held = await store.acquireLease('work', 'dead', 60_000);
      expect(await store.acquireLease('work', 'next', 60_000)).to.equal(undefined);
      expect(await store.isLeaseHeld('work')).to.equal(true);
      // The expiry as the holder wrote it before the clock was set back by an hour.
      const db = client.db(database.dbName);
      const later = Date.now() + HOUR_MS;
      await db.collection('meta_lease_claims').updateMany({}, { $set: { expires_at: later } });
      await db.collection('meta_leases').updateMany({}, { $set: { expires_at: new Date(later) } });
      expect(await store.isLeaseHeld('work')).to.equal(false);
      const next = await store.acquireLease('work', 'next', 60_000);
      expect(next?.fence).to.be.greaterThan(held?.fence ?? Number.POSITIVE_INFINITY);
      expect(await store.acquireLease('work', 'dead', 60_000)).to.equal(undefined);
    });
  });
});

await describeWithMongo('leases of a server without update pipelines', (title, start) => {
  describe(title, () => {
    let database: TestDatabase;
    let client: MongoClient;
    const commands: string[] = [];

    before(() => {
      database = start();
      client = new MongoClient(database.url, { monitorCommands: true });
      client.on('commandStarted', ({ commandName }) => commands.push(commandName));
    });
    after(async () => {
      await client.close();
      await database.dispose();
    });

    it('are renewed with as many commands for fifty as for one', async () => {
      const leases = claimedLeases(client.db(database.dbName));
      const names = Array.from({ length: 50 }, (_, nth) => `work ${nth}`);
      const renewed = async (some: readonly string[]): Promise<readonly string[]> => {
        await leases.acquireAll(some, 'owner', 60_000);
        commands.length = 0;
        expect((await leases.acquireAll(some, 'owner', 60_000)).map((lease) => lease?.fence)).to.deep.equal(
          some.map(() => 1),
        );
        return [...commands];
      };
      const one = await renewed(['other work']);
      expect(await renewed(names)).to.deep.equal(one);
    });
  });
});
