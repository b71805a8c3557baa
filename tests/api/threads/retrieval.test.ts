import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { threadedSearch } from '../../../api/threads/retrieval.ts';
import { Corpus } from '../../../application/assistant/corpus.ts';
import type { PassageSearch } from '../../../application/assistant/tenant-indexes.ts';
import type { CorpusStore } from '../../../application/ports/corpus-store.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { readConfig } from '../../../infrastructure/config.ts';
import { openSqliteCorpusStore } from '../../../infrastructure/corpus/sqlite.ts';
import { document, testEmbedder } from '../../application/assistant/support.ts';
import { rejection } from '../../support/eventually.ts';
import { testLogger } from '../../support/fakes.ts';

describe('The search thread', function () {
  this.timeout(60_000);
  const embedder = testEmbedder();
  let folder: string;
  let store: CorpusStore;
  let search: PassageSearch;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'retrieval-'));
    store = await openSqliteCorpusStore({ path: join(folder, 'corpus.db') });
    const { model, dimensions } = embedder;
    const config = readConfig({ DATA_DIR: folder });
    search = threadedSearch({ config, model, dimensions }, { logger: testLogger() });
  });
  after(async () => {
    await search.close();
    await store.close();
    await rm(folder, { recursive: true });
  });

  const find = async (tenantId: string) => {
    const [vector] = await embedder.embed(['copper kettle'], 'question');
    const terms = ['copper', 'kettl'].map((term) => ({ term, weight: 1 }));
    return (await search.search(tenantId, { vector, terms })).map(({ id, title, texts }) => [
      id,
      title,
      ...texts,
    ]);
  };

  it('finds sources that another thread has just written', async () => {
    const corpus = new Corpus({ store, embedder });
    expect(await find('acme')).to.deep.equal([]);
    await corpus.write('acme', [document('one', 'a copper kettle'), document('two', 'a violin')], 'fail');
    expect(await find('acme')).to.deep.equal([['one', 'Order one', 'a copper kettle']]);
    expect(await Promise.all([find('acme'), find('other'), find('acme')])).to.deep.equal([
      [['one', 'Order one', 'a copper kettle']],
      [],
      [['one', 'Order one', 'a copper kettle']],
    ]);
  });

  it('is unavailable once closed, also for waiting searches', async () => {
    // The search is closed before the thread can answer.
    const waiting = rejection(search.search('acme', { vector: undefined, terms: [] }));
    await search.close();
    expect(await waiting).to.be.instanceOf(StoreUnavailable);
    expect(await rejection(find('acme'))).to.be.instanceOf(StoreUnavailable);
  });
});
