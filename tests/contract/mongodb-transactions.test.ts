import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { startTransactionProxy, type TransactionProxy } from '../support/transaction-proxy.ts';
import { readStoreContract } from './read-store.ts';

await describeWithMongo('read store contract with transactions', (title, start) => {
  const database = start();
  if (database.kind !== 'ferretdb') return;
  const behindProxy = async () => {
    const proxy: TransactionProxy = await startTransactionProxy(database.url);
    const { dbName } = database;
    return {
      open: () => openMongoReadStore({ url: proxy.url, dbName }),
      openInterrupted: (between: () => Promise<void>) =>
        openMongoReadStore({ url: proxy.url, dbName, beforeCheckpoint: between }),
      isAtomic: true,
      runs: 5,
      dispose: async () => {
        await proxy.stop();
        await database.dispose();
      },
    };
  };
  // Only commits and ranges that are read together run in transactions.
  readStoreContract(`${title}, transactions by a proxy`, behindProxy, 'writes');
});
