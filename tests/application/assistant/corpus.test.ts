import { expect } from 'chai';
import fc from 'fast-check';
import { Corpus, GONE } from '../../../application/assistant/corpus.ts';
import type { CorpusStore } from '../../../application/ports/corpus-store.ts';
import { EmbedderUnavailable } from '../../../application/ports/embedder.ts';
import { rejection } from '../../support/eventually.ts';
import { memoryCorpusStore } from '../../support/memory-corpus-store.ts';
import { document, type TestEmbedder, testEmbedder } from './support.ts';

const TENANT = 'acme';
const KEY = { kind: 'entity_record', id: 'one' } as const;
const sentences = (count: number): string =>
  Array.from(
    { length: count },
    (_, n) => `Clause ${n} of the contract speaks of subject number ${n} at length.`,
  ).join(' ');

describe('the corpus', () => {
  let store: CorpusStore;
  let embedder: TestEmbedder;
  let corpus: Corpus;

  beforeEach(() => {
    store = memoryCorpusStore();
    embedder = testEmbedder();
    corpus = new Corpus({ store, embedder });
  });

  const write = (...documents: Parameters<typeof document>[]) =>
    corpus.write(
      TENANT,
      documents.map((each) => document(...each)),
      'fail',
    );
  const textOf = async (id = 'one') => {
    const [found] = await store.load(TENANT, [{ ...KEY, id }]);
    return found?.chunks.map(({ text }) => text).join('|');
  };

  it('embeds new texts once', async () => {
    expect(await write(['one', 'a text'], ['two', 'another'])).to.deep.equal(['added', 'added']);
    expect(embedder.embedded).to.deep.equal(['Order one\na text', 'Order two\nanother']);
    expect(await write(['one', 'a text'], ['two', 'another'])).to.deep.equal(['skipped', 'skipped']);
    expect(embedder.embedded).to.have.length(2);
  });

  it('embeds only changed chunks, and drops those that a shorter text no longer has', async () => {
    await write(['one', sentences(60)]);
    const before = embedder.embedded.length;
    expect(before).to.be.greaterThan(3);
    expect(await write(['one', `${sentences(60)} And one more.`, { revision: '2' }])).to.deep.equal([
      'updated',
    ]);
    expect(embedder.embedded.length - before).to.equal(1);
    expect(await write(['one', 'short', { revision: '3' }])).to.deep.equal(['updated']);
    expect(await textOf()).to.equal('short');
  });

  it('keeps the later of two revisions in either order', async () => {
    await write(['one', 'newer', { revision: '2' }]);
    expect(await write(['one', 'older', { revision: '1' }])).to.deep.equal(['skipped']);
    expect(await textOf()).to.equal('newer');
  });

  it('refuses an older text after a later revision with the same text', async () => {
    await write(['one', 'A', { revision: '1' }]);
    expect(await write(['one', 'A', { revision: '3' }])).to.deep.equal(['skipped']);
    expect(await write(['one', 'B', { revision: '2' }])).to.deep.equal(['skipped']);
    expect(await textOf()).to.equal('A');
  });

  it('does not restore deleted sources, and deletes a record’s attachments', async () => {
    await write(['one', 'text'], ['file', 'attached', { kind: 'attachment', parent: 'one' }]);
    await corpus.delete(TENANT, KEY, false);
    expect(await write(['one', 'text', { revision: '99' }])).to.deep.equal(['skipped']);
    expect((await store.changes(TENANT, 0)).every(({ isTombstone }) => isTombstone)).to.equal(true);
    expect((await store.summaries(TENANT, [KEY]))[0]?.revision).to.equal(GONE);
  });

  it('without a model either fails, or stores texts whose vectors are computed later', async () => {
    embedder.available = false;
    expect(await rejection(write(['one', 'text']))).to.be.instanceOf(EmbedderUnavailable);
    expect(await textOf()).to.equal(undefined);
    expect(await corpus.write(TENANT, [document('one', 'text')], 'store')).to.deep.equal(['added']);
    expect((await store.load(TENANT, [KEY]))[0]).to.include({ model: null });
    embedder.available = true;
    expect(await write(['one', 'text'])).to.deep.equal(['updated']);
    expect((await store.load(TENANT, [KEY]))[0]?.chunks[0]?.vector).to.be.instanceOf(Float32Array);
  });

  it('embeds texts of another model again', async () => {
    await write(['one', 'text']);
    const other = new Corpus({ store, embedder: testEmbedder('words/2') });
    expect(await other.write(TENANT, [document('one', 'text')], 'fail')).to.deep.equal(['updated']);
    expect((await store.load(TENANT, [KEY]))[0]?.model).to.equal('words/2');
  });

  it('holds the latest text after concurrent writes in any order', async () => {
    const step = fc.record({ revision: fc.integer({ min: 1, max: 9 }), deletes: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
        store = memoryCorpusStore();
        const writers = [new Corpus({ store, embedder }), new Corpus({ store, embedder })];
        await Promise.all(
          steps.map(async ({ revision, deletes }, index) => {
            const writer = writers[index % 2];
            if (deletes && index > 5) await writer?.delete(TENANT, KEY, false);
            else
              await writer?.write(
                TENANT,
                [document('one', `text ${revision % 3}`, { revision: String(revision) })],
                'fail',
              );
          }),
        );
        const isDeleted = steps.some(({ deletes }, index) => deletes && index > 5);
        const last = Math.max(...steps.map(({ revision }) => revision));
        // A write that lost a race is repeated, since its event would be delivered again.
        await corpusOf(store, embedder).write(
          TENANT,
          [document('one', `text ${last % 3}`, { revision: String(last) })],
          'fail',
        );
        expect(await textOf()).to.equal(isDeleted ? undefined : `text ${last % 3}`);
      }),
    );
  });
});

const corpusOf = (store: CorpusStore, embedder: TestEmbedder) => new Corpus({ store, embedder });
