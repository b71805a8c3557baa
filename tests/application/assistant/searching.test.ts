import { expect } from 'chai';
import fc from 'fast-check';
import { Corpus } from '../../../application/assistant/corpus.ts';
import { KeywordIndex, termsOf } from '../../../application/assistant/keywords.ts';
import { searchTextsOf } from '../../../application/assistant/question.ts';
import { byScore, chosen, RANKING, type Ranked } from '../../../application/assistant/ranking.ts';
import { SearchIndex } from '../../../application/assistant/search-index.ts';
import { TenantIndexes } from '../../../application/assistant/tenant-indexes.ts';
import type { CorpusStore } from '../../../application/ports/corpus-store.ts';
import { memoryCorpusStore } from '../../support/memory-corpus-store.ts';
import { document, testEmbedder } from './support.ts';

const ranked = (id: string, score: number, more: Partial<Ranked> = {}): Ranked => ({
  kind: 'entity_record',
  id,
  no: 0,
  cosines: [score],
  cosine: score,
  keyword: score,
  coverage: score,
  score,
  margin: 0,
  confidence: score,
  ...more,
});
const apart = (): number => 0;

describe('words of a text', () => {
  it('are compared without case, accents, endings and common words', () => {
    expect(termsOf('What did the Cafés PROMISE?')).to.deep.equal(termsOf('cafe promised'));
    expect(termsOf('deliveries')).to.deep.equal(termsOf('delivery'));
    expect(termsOf('INV-2025-001')).to.deep.equal(['inv', '2025', '001']);
    expect(new Set(termsOf('business bus glass gas')).size).to.equal(4);
    expect(termsOf('a payment')).to.deep.equal(termsOf('pay'));
    expect(termsOf('inspection')).to.deep.equal(termsOf('inspecting'));
    expect(termsOf('東京都')).to.deep.equal(['東京', '京都']);
    expect(termsOf('')).to.deep.equal([]);
  });

  it('have more weight the rarer they are', () => {
    const index = new KeywordIndex();
    for (let row = 0; row < 50; row += 1) index.add(['chair', ...(row === 7 ? ['lyon'] : [])]);
    const { bm25, coverage } = index.search([
      { term: 'chair', weight: 1 },
      { term: 'lyon', weight: 1 },
    ]);
    expect(bm25.indexOf(Math.max(...bm25))).to.equal(7);
    expect(coverage[7]).to.be.closeTo(1, 1e-6);
    expect(coverage[8]).to.be.lessThan(0.5).and.greaterThan(0);
    expect(index.rarity('nowhere'))
      .to.be.greaterThan(index.rarity('lyon'))
      .and.greaterThan(index.rarity('chair'));
  });
});

describe('a related word', () => {
  it('is not counted in addition to the word itself, and scores less than the word', () => {
    const index = new KeywordIndex();
    for (const terms of [['invoic'], ['invoicenumber'], ['invoic', 'invoicenumber'], ['inv']])
      index.add(terms);
    const { bm25, coverage } = index.search([{ term: 'invoic', weight: 1 }]);
    expect([...coverage]).to.deep.equal([1, 1, 1, 0]);
    expect(bm25[1])
      .to.be.greaterThan(0)
      .and.lessThan(bm25[0] ?? 0);
    expect(bm25[2]).to.be.at.most(bm25[0] ?? 0);
    expect(index.search([{ term: '20250', weight: 1 }]).bm25.every((one) => one === 0)).to.equal(true);
  });
});

describe('the list of results', () => {
  const rules = { ...RANKING, threshold: 0.3 };

  it('holds at most six results above the threshold: the best first, equal scores by id', () => {
    const all = ['f', 'a', 'c', 'b', 'd', 'e', 'g'].map((id) => ranked(id, id === 'g' ? 0.9 : 0.5));
    const found = chosen([...all, ranked('z', 0.29), ranked('y', Number.NaN)], rules, apart);
    expect(found.map(({ id }) => id)).to.deep.equal(['g', 'a', 'b', 'c', 'd', 'e']);
  });

  it('has at most two sections of one source, unless there is no other source', () => {
    const one = [0, 1, 2, 3].map((no) => ranked('one', 0.9 - no / 10, { no }));
    expect(chosen(one, rules, apart).map(({ no }) => no)).to.deep.equal([0, 1, 2, 3]);
    const found = chosen([...one, ranked('two', 0.4)], rules, apart);
    expect(found.map(({ id, no }) => `${id}${no}`)).to.deep.equal(['one0', 'one1', 'two0']);
  });

  it('has no duplicates', () => {
    const twins = [ranked('a', 0.9), ranked('b', 0.8), ranked('c', 0.7)];
    const found = chosen(twins, rules, (x, y) => (x.id !== 'c' && y.id !== 'c' ? 0.99 : 0.1));
    expect(found.map(({ id }) => id)).to.deep.equal(['a', 'c']);
  });

  it('has one order for any order of candidates', () => {
    const candidate = fc.record({
      id: fc.constantFrom('a', 'b', 'c', 'd'),
      no: fc.nat(3),
      score: fc.constantFrom(0.4, 0.5, 0.6),
    });
    fc.assert(
      fc.property(fc.uniqueArray(candidate, { selector: ({ id, no }) => `${id}${no}` }), (all) => {
        const list = all.map(({ id, no, score }) => ranked(id, score, { no }));
        const found = chosen(list, rules, apart);
        expect(found).to.deep.equal(chosen(list.toReversed(), rules, apart));
        expect(found).to.deep.equal(found.toSorted(byScore));
      }),
    );
  });
});

describe('an index', () => {
  it('finds by words and by vectors, but no removed or replaced source', () => {
    const index = new SearchIndex(4);
    const vector = Float32Array.from([1, 0, 0, 0]);
    const none = Float32Array.from([0, 1, 0, 0]);
    index.put({ kind: 'entity_record', id: 'a', title: 'Lamp', chunks: [{ text: 'a lamp', vector: none }] });
    index.put({ kind: 'entity_record', id: 'b', title: 'Chair', chunks: [{ text: 'a chair', vector }] });
    index.put({
      kind: 'entity_record',
      id: 'c',
      title: 'No vector',
      chunks: [{ text: 'lamp', vector: undefined }],
    });
    const ids = (terms: string[], by: Float32Array | undefined) =>
      index.search({ vector: by, terms: terms.map((term) => ({ term, weight: 1 })) }).map(({ id }) => id);
    expect(ids(['lamp'], undefined).toSorted()).to.deep.equal(['a', 'c']);
    expect(ids([], vector)).to.deep.equal(['b']);
    index.put({ kind: 'entity_record', id: 'a', title: 'Desk', chunks: [] });
    index.remove({ kind: 'entity_record', id: 'c' });
    expect(ids(['lamp'], undefined)).to.deep.equal([]);
    expect(index.size).to.equal(1);
    expect(() =>
      index.put({
        kind: 'entity_record',
        id: 'd',
        title: '',
        chunks: [{ text: '', vector: new Float32Array(3) }],
      }),
    ).to.throw(TypeError);
  });
});

describe('the indexes of tenants', () => {
  const embedder = testEmbedder();
  const newIndexes = (store: CorpusStore, maxBytes = 1e9) =>
    new TenantIndexes({ store, dimensions: 64, model: embedder.model, maxBytes });
  const query = async (text: string) => {
    const { text: embedded, terms } = searchTextsOf(text);
    return { vector: (await embedder.embed([embedded], 'question'))[0], terms };
  };

  it('see every write, change and deletion between two questions', async () => {
    const store = memoryCorpusStore();
    const corpus = new Corpus({ store, embedder });
    const indexes = newIndexes(store);
    const texts = async (text: string) =>
      (await indexes.search('acme', await query(text))).flatMap((p) => p.texts);
    expect(await texts('copper kettle')).to.deep.equal([]);
    await corpus.write('acme', [document('one', 'a copper kettle'), document('two', 'a violin')], 'fail');
    expect(await texts('copper kettle')).to.deep.equal(['a copper kettle']);
    await corpus.write('acme', [document('one', 'a brass trumpet', { revision: '2' })], 'fail');
    expect(await texts('copper kettle')).to.deep.equal([]);
    expect(await texts('brass trumpet')).to.deep.equal(['a brass trumpet']);
    await corpus.delete('acme', { kind: 'entity_record', id: 'one' }, false);
    expect(await texts('brass trumpet')).to.deep.equal([]);
    expect(await texts('violin')).to.deep.equal(['a violin']);
  });

  it('hold no other tenant’s chunks, and the least recently searched are evicted', async () => {
    const store = memoryCorpusStore();
    const corpus = new Corpus({ store, embedder });
    for (const tenant of ['a', 'b', 'c'])
      await corpus.write(tenant, [document('x', `kettle of ${tenant}`)], 'fail');
    const indexes = newIndexes(store, 2700);
    for (const tenant of ['a', 'b', 'a', 'c']) {
      const found = await indexes.search(tenant, await query('kettle'));
      expect(found.flatMap(({ texts }) => texts)).to.deep.equal([`kettle of ${tenant}`]);
    }
    expect(indexes.tenants).to.include('c').and.not.to.include('b');
    expect(await indexes.search('b', await query('kettle'))).to.have.length(1);
  });

  it('apply a change that becomes visible after a later change', async () => {
    const store = memoryCorpusStore();
    const corpus = new Corpus({ store, embedder });
    await corpus.write('acme', [document('late', 'a late kettle')], 'fail');
    await corpus.write('acme', [document('early', 'an early kettle')], 'fail');
    let isLateVisible = false;
    const settling: CorpusStore = {
      ...store,
      settlesWithin: 1000,
      changes: async (tenantId, after) =>
        (await store.changes(tenantId, after)).filter(({ id }) => id !== 'late' || isLateVisible),
    };
    const indexes = newIndexes(settling);
    expect(await indexes.search('acme', await query('kettle'))).to.have.length(1);
    isLateVisible = true;
    expect(await indexes.search('acme', await query('kettle'))).to.have.length(2);
  });

  it('apply the last write of a source, even if an earlier write has a higher number', async () => {
    const store = memoryCorpusStore();
    const corpus = new Corpus({ store, embedder });
    let more = 10;
    const racing: CorpusStore = {
      ...store,
      settlesWithin: 1000,
      changes: async (tenantId, after) =>
        (await store.changes(tenantId, 0))
          .map((change) => ({ ...change, seq: change.seq + more }))
          .filter(({ seq }) => seq > after),
      load: async (tenantId, keys) =>
        (await store.load(tenantId, keys)).map((source) => source && { ...source, seq: source.seq + more }),
    };
    const indexes = newIndexes(racing);
    await corpus.write('acme', [document('one', 'a copper kettle')], 'fail');
    expect(await indexes.search('acme', await query('copper kettle'))).to.have.length(1);
    await corpus.write('acme', [document('one', 'a brass trumpet', { revision: '2' })], 'fail');
    more = 0;
    const found = await indexes.search('acme', await query('brass trumpet'));
    expect(found.flatMap(({ texts }) => texts)).to.deep.equal(['a brass trumpet']);
  });

  for (const together of [1, 2]) {
    it(`rebuild an index after many removals, with ${together} questions at the same time`, async () => {
      const store = memoryCorpusStore();
      const corpus = new Corpus({ store, embedder });
      const indexes = newIndexes(store);
      const all = (revision: number) =>
        Array.from({ length: 300 }, (_, n) =>
          document(String(n), `kettle ${n} ${revision}`, { revision: String(revision) }),
        );
      for (let revision = 1; revision <= 8; revision += 1) {
        await corpus.write('acme', all(revision), 'fail');
        const asked = await query(`kettle 17 ${revision}`);
        const search = () => indexes.search('acme', asked);
        const answers = await Promise.all(Array.from({ length: together }, search));
        for (const found of answers) expect(found[0]?.texts).to.deep.equal([`kettle 17 ${revision}`]);
      }
    });
  }
});

describe('the search text', () => {
  const history = [
    { role: 'user' as const, content: 'What did we promise the bakery in Lyon?' },
    { role: 'assistant' as const, content: 'Forty chairs in Paris.' },
  ];

  it('is the question alone when it needs no context', () => {
    const message = 'Which museum ordered oak benches for its entrance hall?';
    expect(searchTextsOf(message, history).text).to.equal(message);
    expect(searchTextsOf('What did we promise?', []).text).to.equal('What did we promise?');
  });

  it('includes the last full question when the new question refers to it', () => {
    for (const message of ['And in 2025?', 'When?', 'How much is it?', 'what about that one']) {
      const { text, terms } = searchTextsOf(message, history);
      expect(text).to.include('Lyon').and.to.include(message);
      expect(terms.find(({ term }) => term === 'lyon')?.weight).to.be.lessThan(1);
      expect(text, 'not the assistant’s words').not.to.include('Paris');
    }
    const longer = [...history, { role: 'user' as const, content: 'And then?' }];
    expect(searchTextsOf('why?', longer).text).to.include('Lyon');
  });
});
