import { expect } from 'chai';
import { MongoClient } from 'mongodb';
import type { CorpusSource } from '../../application/ports/corpus-store.ts';
import { openMongoCorpusStore } from '../../infrastructure/corpus/mongodb.ts';
import { describeWithMongo } from '../support/mongodb-server.ts';
import { corpusStoreContract } from './corpus-store.ts';

await describeWithMongo('corpus store contract', (title, start) => {
  corpusStoreContract(title, async () => {
    const { url, dbName, dispose, kind } = start();
    return { open: () => openMongoCorpusStore({ url, dbName }), dispose, isAtomic: kind === 'mongodb' };
  });
});

await describeWithMongo('corpus store writes that are overtaken', (title, start) => {
  describe(title, () => {
    it('get a later seq than the write that overtook them, so that readers see them', async () => {
      const { url, dbName, dispose } = start();
      const store = await openMongoCorpusStore({ url, dbName });
      const client = new MongoClient(url);
      try {
        const source = (revision: string): CorpusSource => ({
          kind: 'entity_record',
          id: 'a',
          revision,
          title: '',
          parent: null,
          model: null,
          chunks: [],
        });
        for (const revision of ['1', '2']) await store.put('acme', [source(revision)]);
        const seen = (await store.changes('acme', 0)).at(-1)?.seq ?? 0;
        // The next writers draw numbers from before the last write, as if they had drawn them and then stalled.
        const counters = client.db(dbName).collection<{ _id: string; seq: number }>('corpus_counters');
        const stall = () => counters.updateOne({ _id: 'acme' }, { $set: { seq: 0 } });
        await stall();
        expect(await store.put('acme', [source('2')])).to.deep.equal([true]);
        const [again] = await store.changes('acme', seen);
        expect(again?.seq).to.be.greaterThan(seen);
        await stall();
        expect(await store.put('acme', [source('1')]), 'of an older revision').to.deep.equal([false]);
        await stall();
        await store.putTombstone('acme', source('2'), '~', true);
        expect(await store.changes('acme', again?.seq ?? 0)).to.deep.include({
          kind: 'entity_record',
          id: 'a',
          seq: (again?.seq ?? 0) + 1,
          isTombstone: true,
        });
      } finally {
        await client.close();
        await store.close();
        await dispose();
      }
    });
  });
});
