import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { startTransactionProxy, type TransactionProxy } from '../support/transaction-proxy.ts';
import { readStoreContract } from './read-store.ts';

await describeWithMongo('read store contract with transactions', (title, start) => {
  const database = start();
  if (database.kind !== 'ferretdb') return;
  readStoreContract(`${title}, transactions by a proxy`, async () => {
    const proxy: TransactionProxy = await startTransactionProxy(database.url);
    const { dbName } = database;
    return {
      open: () => openMongoReadStore({ url: proxy.url, dbName }),
      openInterrupted: (between) => openMongoReadStore({ url: proxy.url, dbName, beforeCheckpoint: between }),
      isAtomic: true,
      runs: 15,
      dispose: async () => {
        await proxy.stop();
        await database.dispose();
      },
    };
  });
});
