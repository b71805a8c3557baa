import { expect } from 'chai';
import type { CollectionSpec, ReadStore } from '../../application/ports/read-store.ts';
import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { describeWithMongo, type TestDatabase } from '../support/mongodb-server.ts';
import { newGeneration } from './read-store/support.ts';

const INDEXES = [
  { name: 'by_a', fields: ['a', 'n'] },
  { name: 'by_b', fields: ['a', 'b', 'n'] },
  { name: 'by_tag', fields: ['tags', 'n'], multi: 'tags' },
  { name: 'by_n', fields: ['n'] },
];
const COLLECTIONS: readonly CollectionSpec[] = [
  { name: 'many', indexes: INDEXES },
  { name: 'one', indexes: INDEXES.slice(0, 1) },
  { name: 'none', indexes: [] },
];

/** At its start, every process prepares all generations that it folds or reads, concurrently with others. */
await describeWithMongo('preparing generations', (title, start) => {
  describe(`preparing generations: ${title}`, () => {
    let database: TestDatabase;
    const stores: ReadStore[] = [];

    before(async () => {
      database = start();
      const { url, dbName } = database;
      for (let i = 0; i < 3; i += 1) stores.push(await openMongoReadStore({ url, dbName }));
    });
    after(async () => {
      for (const store of stores) await store.close();
      await database.dispose();
    });

    const expectAnswers = async (store: ReadStore, generation: ReturnType<typeof newGeneration>) => {
      for (const { name } of INDEXES) {
        const query = { collection: 'many', tenant: 'acme', index: name, order: 'desc', limit: 5 } as const;
        expect(await store.find(generation, query), name).to.deep.equal({ docs: [] });
      }
    };

    it('may be repeated for collections with several indexes', async () => {
      const generation = newGeneration();
      for (const store of [...stores, ...stores]) {
        await store.prepare(generation, COLLECTIONS);
        await expectAnswers(store, generation);
      }
    });

    it('may run in several processes for several generations at the same moment', async () => {
      const generations = Array.from({ length: 6 }, newGeneration);
      await Promise.all(
        [...stores, ...stores].flatMap((store) =>
          generations.map((generation) => store.prepare(generation, COLLECTIONS)),
        ),
      );
      for (const store of stores) {
        for (const generation of generations) await expectAnswers(store, generation);
      }
    });
  });
});
