import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { readStoreContract } from './read-store.ts';

await describeWithMongo('read store contract', (title, start) => {
  readStoreContract(title, async () => {
    const { url, dbName, dispose } = start();
    return {
      open: () => openMongoReadStore({ url, dbName }),
      openInterrupted: (between) => openMongoReadStore({ url, dbName, beforeCheckpoint: between }),
      runs: 15,
      dispose,
    };
  });
});
