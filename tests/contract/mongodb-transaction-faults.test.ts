import { expect } from 'chai';
import { leaseNameOf, type ReadStore } from '../../application/ports/read-store.ts';
import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { describeWithMongo, type TestDatabase } from '../support/mongodb-server.ts';
import { startTransactionProxy, TRANSIENT, type TransactionProxy } from '../support/transaction-proxy.ts';
import { at, isFenced, put, rejectsWith, workbench } from './read-store/support.ts';

const UNKNOWN = {
  code: 91,
  codeName: 'ShutdownInProgress',
  errmsg: 'shutting down',
  errorLabels: ['UnknownTransactionCommitResult'],
};

/** Errors of a primary that steps down, within a transaction and at its commit. */
const stepDown = (name: string) => ({
  code: 10107,
  codeName: 'NotWritablePrimary',
  errmsg: 'not primary',
  errorLabels: [
    name === 'commitTransaction' ? 'UnknownTransactionCommitResult' : 'TransientTransactionError',
  ],
});

/** Commands of the driver for a batch, and failures of the server. Needs FerretDB behind the proxy. */
await describeWithMongo('transactions that fail', (title, start) => {
  describe(`Transactions: ${title} behind a proxy`, () => {
    let database: TestDatabase;
    let proxy: TransactionProxy;
    let store: ReadStore;

    before(async function () {
      database = start();
      if (database.kind !== 'ferretdb') return this.skip();
      proxy = await startTransactionProxy(database.url);
      store = await openMongoReadStore({ url: proxy.url, dbName: database.dbName });
    });
    after(async () => {
      await store?.close();
      await proxy?.stop();
      await database.dispose();
    });

    /** Names of the transaction commands that `work` sends. */
    const commandsOf = async (work: () => Promise<unknown>): Promise<string[]> => {
      proxy.commands.length = 0;
      await work();
      return [...proxy.commands];
    };
    const other = (between: () => Promise<void>) =>
      openMongoReadStore({ url: proxy.url, dbName: database.dbName, beforeCheckpoint: between });

    it('read the stored documents, write the new ones, and then the checkpoint', async () => {
      const { commit } = await workbench(store);
      const all = ['find', 'update', 'update', 'commitTransaction'];
      expect(await commandsOf(() => commit([put('a', 1, { n: 1 }), put('b', 1, { n: 1 })], 1))).to.deep.equal(
        all,
      );
      expect(await commandsOf(() => commit([put('a', 2, null)]))).to.deep.equal(all);
      expect(await commandsOf(() => commit([put('a', 2, null)], 2)), 'nothing is newer').to.deep.equal([
        'find',
        'update',
        'commitTransaction',
      ]);
      expect(await commandsOf(() => commit([], 3)), 'a checkpoint alone').to.deep.equal([]);
    });

    it('are aborted when the batch fails', async () => {
      const failing = await other(() => Promise.reject(new Error('failed')));
      const { generation, fence, value } = await workbench(store);
      const batch = { generation, fence, writes: [put('a', 1, { n: 1 })], checkpoint: at(1) };
      const commands = await commandsOf(() => rejectsWith(failing.commit(batch), Error));
      expect(commands).to.deep.equal(['find', 'update', 'abortTransaction']);
      expect(await value('a')).to.equal(undefined);
      expect(proxy.open).to.equal(0);
      await failing.close();
    });

    for (const name of ['find', 'update', 'commitTransaction']) {
      it(`are repeated as a whole after a transient failure of ${name}`, async () => {
        const { commit, value, generation } = await workbench(store);
        proxy.failNext(name, TRANSIENT);
        proxy.failNext(name, TRANSIENT);
        await commit([put('a', 1, { n: 1 })], 1);
        expect(await value('a')).to.deep.equal({ n: 1 });
        expect((await store.state(generation)).checkpoint).to.equal(at(1));
      });
    }

    for (const name of ['find', 'update', 'commitTransaction']) {
      it(`are stored once when the primary steps down at ${name}`, async () => {
        const { commit, value, ids, generation } = await workbench(store);
        proxy.failNext(name, stepDown(name));
        proxy.failNext(name, stepDown(name));
        await commit([put('a', 1, { n: 1 }), put('b', 1, { n: 1 })], 1);
        expect([await value('a'), await value('b')]).to.deep.equal([{ n: 1 }, { n: 1 }]);
        expect(await ids()).to.deep.equal(['a', 'b']);
        expect((await store.state(generation)).checkpoint).to.equal(at(1));
      }).timeout(30_000);
    }

    for (const isDone of [true, false]) {
      it(`are stored once when the answer to the commit is lost, ${isDone ? 'done' : 'not done'}`, async () => {
        const { commit, value, ids, generation } = await workbench(store);
        await commit([put('a', 1, { n: 1 })], 1);
        // The driver itself retries once.
        proxy.failNext('commitTransaction', UNKNOWN, isDone);
        proxy.failNext('commitTransaction', UNKNOWN);
        await commit([put('a', 2, { n: 2 }), put('b', 2, { n: 2 })], 2);
        expect([await value('a'), await value('b')]).to.deep.equal([{ n: 2 }, { n: 2 }]);
        expect(await ids()).to.deep.equal(['a', 'b']);
        expect((await store.state(generation)).checkpoint).to.equal(at(2));
      });
    }

    it('left open by a dead process are ended by the next holder of the lease', async () => {
      const { generation, fence, commit, value } = await workbench(store);
      const lease = { name: leaseNameOf(generation), owner: 'tester', fence };
      const begun = Promise.withResolvers<void>();
      const never = Promise.withResolvers<void>();
      const dead = await other(() => {
        begun.resolve();
        return never.promise;
      });
      const stuck = dead.commit({ generation, fence, writes: [put('a', 1, { n: 1 })], checkpoint: at(1) });
      await begun.promise;
      expect(proxy.open).to.equal(1);
      await store.releaseLease(lease);
      const taking = () => store.acquireLease(lease.name, 'other', 60_000);
      expect(await commandsOf(taking)).to.deep.equal(['killSessions']);
      expect(proxy.open).to.equal(0);
      expect(await commandsOf(taking), 'once').to.deep.equal([]);
      await commit([put('b', 1, { n: 1 })], 1, fence + 1);
      // The process that was considered dead continues.
      never.resolve();
      await isFenced(stuck);
      expect([await value('a'), await value('b')]).to.deep.equal([undefined, { n: 1 }]);
      await dead.close();
    });

    it('read ranges of one snapshot, and repeat the read after a conflicting batch', async () => {
      const { generation, commit } = await workbench(store);
      await commit([put('a', 1, { n: 1 }), put('b', 1, { n: 2 })], 1);
      const query = { collection: 'docs', tenant: 'acme', index: 'by_n' };
      const queries = [
        { ...query, range: { lt: 2 } },
        { ...query, range: { gte: 2 } },
      ];
      const read = async () => store.findAll(generation, queries);
      const once = ['find', 'find', 'commitTransaction'];
      expect(await commandsOf(read)).to.deep.equal(once);
      proxy.failNext('commitTransaction', TRANSIENT);
      expect(await commandsOf(read)).to.deep.equal([...once, ...once]);
      expect(await read()).to.deep.equal([[{ n: 1 }], [{ n: 2 }]]);
    });

    it('are not used when a server of a set refuses them', async () => {
      proxy.failNext('commitTransaction', {
        code: 59,
        codeName: 'CommandNotFound',
        errmsg: 'no such command',
      });
      const plain = await other(async () => undefined);
      const { generation, fence, value } = await workbench(store);
      const batch = { generation, fence, writes: [put('a', 1, { n: 1 })], checkpoint: at(1) };
      expect(await commandsOf(() => plain.commit(batch))).to.deep.equal([]);
      expect(await value('a')).to.deep.equal({ n: 1 });
      await plain.close();
    });
  });
});
