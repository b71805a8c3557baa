import { MongoClient } from 'mongodb';
import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { readStoreContract } from './read-store.ts';

/** MongoDB has transactions in a replica set and behind `mongos`; FerretDB has none. */
const hasTransactions = async (url: string): Promise<boolean> => {
  const client = new MongoClient(url);
  const { setName, msg } = await client.db().command({ hello: 1 });
  await client.close();
  return setName !== undefined || msg === 'isdbgrid';
};

await describeWithMongo('read store contract', (title, start) => {
  readStoreContract(title, async () => {
    const { url, dbName, dispose } = start();
    return {
      isAtomic: await hasTransactions(url),
      open: () => openMongoReadStore({ url, dbName }),
      openInterrupted: (between) => openMongoReadStore({ url, dbName, beforeCheckpoint: between }),
      runs: 8,
      dispose,
    };
  });
});
