import { MongoClient } from 'mongodb';
import type { TestDatabase } from './mongodb-server.ts';
import { forSuite } from './suite.ts';
import { endWorld, startWorld } from './world.ts';

/** For a suite of `describeWithMongo`: a world with read models, keys, answers and files in the suite's database. */
export const onMongo = (start: () => TestDatabase, env: Readonly<Record<string, string>> = {}) => {
  let database: TestDatabase | undefined;
  let client: MongoClient | undefined;
  return forSuite(
    async () => {
      database = start();
      client = new MongoClient(database.url);
      const db = client.db(database.dbName);
      return {
        database,
        db,
        world: await startWorld({ env: { MONGODB_URL: database.databaseUrl, ...env } }),
      };
    },
    async () => {
      await endWorld();
      await client?.close();
      await database?.dispose();
    },
  );
};
