import { openMongoCorpusStore } from '../../infrastructure/corpus/mongodb.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { corpusStoreContract } from './corpus-store.ts';

await describeWithMongo('corpus store contract', (title, start) => {
  corpusStoreContract(title, async () => {
    const { url, dbName, dispose, kind } = start();
    return { open: () => openMongoCorpusStore({ url, dbName }), dispose, isAtomic: kind === 'mongodb' };
  });
});
