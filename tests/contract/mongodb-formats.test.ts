import { expect } from 'chai';
import { type Db, MongoClient } from 'mongodb';
import type { ReadStore } from '../../application/ports/read-store.ts';
import type { Row } from '../../infrastructure/mongodb/calls.ts';
import { documentIn } from '../../infrastructure/read-store/mongodb/native-documents.ts';
import { openMongoReadStore } from '../../infrastructure/read-store/mongodb/store.ts';
import { untilPasses } from '../support/eventually.ts';
import { describeWithMongo, type TestDatabase } from '../support/mongodb-server.ts';
import { readModelKit, tallies } from '../support/read-model-kit.ts';
import { newGeneration, put, type Workbench, workbench } from './read-store/support.ts';

/** Rewrites a generation as a build of format 1 stored it: JSON text under `value`, and no mark. */
async function asFormat1(db: Db, projection: string): Promise<void> {
  await db
    .collection<Row>('meta_generations')
    .updateMany({ _id: { $regex: `^${projection}@` } }, { $unset: { format: '' } });
  const names = (await db.listCollections().toArray()).map(({ name }) => name);
  for (const name of names.filter((each) => each.startsWith(`${projection}@`))) {
    for (const { _id, value } of await db
      .collection(name)
      .find({ value: { $ne: null } })
      .toArray()) {
      await db.collection(name).updateOne({ _id }, { $set: { value: JSON.stringify(documentIn(value)) } });
    }
  }
}

await describeWithMongo('stored forms', (title, start) => {
  describe(`Stored forms of documents: ${title}`, () => {
    let database: TestDatabase;
    let client: MongoClient;
    let db: Db;
    let store: ReadStore;

    before(async () => {
      database = start();
      client = new MongoClient(database.url);
      db = client.db(database.dbName);
      store = await openMongoReadStore({ url: database.url, dbName: database.dbName });
    });
    after(async () => {
      await store.close();
      await client.close();
      await database.dispose();
    });

    const rowsOf = ({ generation }: Workbench) =>
      db.collection<{ _id: string; value: unknown }>(`${generation.projection}@${generation.tag}.docs`);

    it('have fields that a query of the database finds, groups and indexes', async () => {
      const bench = await workbench(store);
      await bench.commit(
        [1, 2, 3].map((n) =>
          put(`d${n}`, 1, { n, state: n < 3 ? 'open' : 'done', who: { id: `p${n}` }, tags: ['x'] }),
        ),
        1,
      );
      const rows = rowsOf(bench);
      await rows.createIndex({ 'value.state': 1 });
      const open = await rows
        .find({ tenant: 'acme', 'value.state': 'open' })
        .sort({ 'value.n': -1 })
        .toArray();
      expect(open.map(({ value }) => value)).to.deep.equal([
        { n: 2, state: 'open', who: { id: 'p2' }, tags: ['x'] },
        { n: 1, state: 'open', who: { id: 'p1' }, tags: ['x'] },
      ]);
      expect(await rows.countDocuments({ 'value.who.id': 'p3' })).to.equal(1);
      const states = await rows
        .aggregate([{ $group: { _id: '$value.state', of: { $sum: 1 } } }, { $sort: { _id: 1 } }])
        .toArray();
      expect(states).to.deep.equal([
        { _id: 'done', of: 1 },
        { _id: 'open', of: 2 },
      ]);
    });

    it('of format 1 are read, and replaced by the present format when written', async () => {
      const bench = await workbench(store);
      const { generation, commit, value, ids } = bench;
      await commit([put('a', 1, { n: 1, '$x.y': [[1]] }), put('b', 1, { n: 2 }), put('c', 1, null)], 1);
      await asFormat1(db, generation.projection);
      expect((await rowsOf(bench).findOne({ _id: 'acme/b' }))?.value).to.equal('{"n":2}');
      expect([await value('b'), await value('c'), await ids()]).to.deep.equal([
        { n: 2 },
        undefined,
        ['a', 'b'],
      ]);
      const query = { collection: 'docs', tenant: 'acme', index: 'by_n', limit: 5 };
      expect((await store.find(generation, query)).docs).to.have.length(2);
      const listed = await store.list(generation, 'docs', undefined, 5);
      expect(listed.map(({ doc, isIndexed }) => [doc?.value.n, isIndexed])).to.deep.equal([
        [1, true],
        [2, true],
      ]);
      await commit([put('b', 2, { n: 3 })], 2);
      expect((await rowsOf(bench).findOne({ _id: 'acme/b' }))?.value).to.deep.equal({ n: 3 });
      expect(await ids()).to.deep.equal(['a', 'b']);
    });

    it('of format 1 are rebuilt once while the old generation answers', async () => {
      const kit = await readModelKit(store);
      await kit.write('acme', 'a1');
      await kit.write('globex', 'g1');
      const at = (tag: string) => ({ projection: 'tallies', tag });
      const run = async (until: () => Promise<unknown>): Promise<void> => {
        const stopping = new AbortController();
        const work = kit.runner({ retirementMs: 50 }).run(stopping.signal);
        await until().finally(() => stopping.abort());
        await work;
      };
      await run(() =>
        untilPasses(async () => expect(await kit.tally('globex', at('v1'))).to.deep.equal(['g1'])),
      );
      expect(await store.state(at('v1'))).not.to.have.property('isOutdated');
      await asFormat1(db, 'tallies');
      expect(await store.state(at('v1'))).to.have.property('isOutdated', true);
      await kit.write('acme', 'a2');
      const answers: unknown[] = [];
      await run(async () => {
        await untilPasses(async () => {
          const { active = '' } = await store.activeGeneration('tallies');
          const answer = await kit.tally('globex', at(active));
          expect((await store.activeGeneration('tallies')).active).to.equal(active);
          answers.push(answer);
          expect(active).to.equal('v1.1');
        });
        // The follower of the replaced generation notices this at the next event, and drops the generation.
        await kit.write('globex', 'CLOSE');
        await untilPasses(async () => {
          expect((await store.state(at('v1'))).checkpoint).to.equal(undefined);
          expect(await kit.tally('globex', at('v1.1'))).to.equal(undefined);
        });
      });
      expect(
        answers.every((each) => JSON.stringify(each) === '["g1"]'),
        'reads never stop',
      ).to.equal(true);
      expect(await kit.tally('acme', at('v1.1'))).to.deep.equal(['a1', 'a2']);
      expect(await store.state(at('v1.1'))).not.to.have.property('isOutdated');
      const rows = await db.collection(`tallies@v1.1.${tallies().collections[0]?.name}`).find().toArray();
      expect(rows.map(({ value }) => value?.entries)).to.deep.include(['a1', 'a2']);
      // A further start does not rebuild it again.
      await kit.write('acme', 'a3');
      await run(() =>
        untilPasses(async () =>
          expect(await kit.tally('acme', at('v1.1'))).to.deep.equal(['a1', 'a2', 'a3']),
        ),
      );
      expect(await store.activeGeneration('tallies')).to.deep.equal({ active: 'v1.1', building: undefined });
    }).timeout(90_000);

    it('index all searched fields where the server can; a generation without such an index is outdated', async () => {
      const RECORDS = {
        name: 'docs',
        indexes: [{ name: 'by_entity', fields: ['entity_name', 'created_at'] }],
        searchable: true,
        scopedBy: 'entity_name',
      };
      const without = newGeneration();
      await store.prepare(without, [RECORDS, { name: 'notes', indexes: [] }]);
      expect(await store.state(without)).not.to.have.property('isOutdated');
      const indexed: string[] = [];
      const able = await openMongoReadStore({
        url: database.url,
        dbName: database.dbName,
        abilities: { indexFields: async (rows) => void indexed.push(rows.collectionName) },
      });
      try {
        await able.prepare(without, [RECORDS, { name: 'notes', indexes: [] }]);
        expect(indexed, 'a collection that may be large is not indexed at a start').to.deep.equal([]);
        expect(await able.state(without)).to.have.property('isOutdated', true);
        const next = { ...without, tag: 'v1.1' };
        await able.prepare(next, [RECORDS, { name: 'notes', indexes: [] }]);
        await able.prepare(next, [RECORDS, { name: 'notes', indexes: [] }]);
        expect(indexed).to.deep.equal(Array(2).fill(`${next.projection}@v1.1.docs`));
        expect(await able.state(next)).not.to.have.property('isOutdated');
        expect(await store.state(next)).not.to.have.property('isOutdated');
        const plain = newGeneration();
        await able.prepare(plain, [{ name: 'notes', indexes: [] }]);
        expect(await able.state(plain)).not.to.have.property('isOutdated');
      } finally {
        await able.close();
      }
    });
  });
});
