import { openMongoKeyStore } from '../../infrastructure/key-store/mongodb.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { keyStoreContract } from './key-store.ts';

await describeWithMongo('key store contract', (title, start) => {
  keyStoreContract(title, async () => {
    const { url, dbName, dispose, kind } = start();
    // FerretDB reads, compares and writes in three steps.
    return { open: () => openMongoKeyStore({ url, dbName }), dispose, isAtomic: kind === 'mongodb' };
  });
});
