import { openMongoIdempotencyStore } from '../../infrastructure/idempotency/mongodb.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { idempotencyStoreContract } from './idempotency-store.ts';

await describeWithMongo('idempotency store contract', (title, start) => {
  idempotencyStoreContract(title, async () => {
    const { url, dbName, dispose } = start();
    return { open: () => openMongoIdempotencyStore({ url, dbName }), dispose };
  });
});
