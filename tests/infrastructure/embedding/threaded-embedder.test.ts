import { expect } from 'chai';
import { EmbedderUnavailable } from '../../../application/ports/embedder.ts';
import { StoreUnavailable } from '../../../application/ports/event-store.ts';
import { noEmbedder, threadedEmbedder } from '../../../infrastructure/embedding/threaded-embedder.ts';
import { normalised } from '../../../infrastructure/embedding/vectors.ts';
import { rejection } from '../../support/eventually.ts';
import { testLogger } from '../../support/fakes.ts';

describe('The threaded embedder', function () {
  this.timeout(120_000);
  const embedder = threadedEmbedder({ logger: testLogger() });
  after(() => embedder.close());

  const cosine = (a: Float32Array | undefined, b: Float32Array | undefined): number =>
    (a ?? new Float32Array()).reduce((sum, value, index) => sum + value * (b?.[index] ?? 0), 0);

  it('returns vectors of length one, closer for similar meanings', async () => {
    const [a, b, c] = await embedder.embed(
      ['When will the goods arrive?', 'What is the delivery date?', 'The cat sleeps on the sofa.'],
      'question',
    );
    expect(a).to.have.length(embedder.dimensions);
    expect(cosine(a, a)).to.be.closeTo(1, 1e-5);
    expect(cosine(a, b)).to.be.greaterThan(cosine(a, c) + 0.1);
  });

  it('accepts any text, also an empty one, and returns vectors in order', async () => {
    const texts = ['', ' ', '\u0000', '😀', '\ud800', '你好', 'x'.repeat(5000), 'hello', 'hello'];
    const vectors = await embedder.embed(texts, 'background');
    expect(vectors).to.have.length(texts.length);
    expect(cosine(vectors[7], vectors[8])).to.be.closeTo(1, 1e-5);
    expect(await embedder.embed([], 'question')).to.deep.equal([]);
  });

  it('takes no longer for characters that expand', async () => {
    const begun = performance.now();
    await embedder.embed(['\ufdfa'.repeat(4000), '\u3300'.repeat(4000)], 'question');
    expect(performance.now() - begun).to.be.lessThan(5000);
  });

  it('does not delay a short text by a long one', async () => {
    const order: string[] = [];
    const long = embedder
      .embed(
        Array.from({ length: 30 }, (_, n) => `A long text, number ${n}. `.repeat(20)),
        'background',
      )
      .then(() => order.push('long'));
    await embedder.embed(['A short one'], 'background').then(() => order.push('short'));
    await long;
    expect(order).to.deep.equal(['short', 'long']);
  });

  it('answers a question during a backfill', async () => {
    const order: string[] = [];
    const backfill = embedder
      .embed(
        Array.from({ length: 40 }, (_, n) => `A background text, number ${n}. `.repeat(8)),
        'background',
      )
      .then(() => order.push('backfill'));
    await embedder.embed(['A question'], 'question').then(() => order.push('question'));
    await backfill;
    expect(order).to.deep.equal(['question', 'backfill']);
  });

  it('is unavailable without its files, and logs that once', async () => {
    const logger = testLogger();
    const missing = threadedEmbedder({ logger, modelPackage: '@energetic-ai/no-such-model' });
    for (const urgency of ['question', 'background'] as const)
      expect(await rejection(missing.embed(['x'], urgency))).to.be.instanceOf(EmbedderUnavailable);
    expect(logger.lines.filter(({ level }) => level === 'error')).to.have.length(1);
    await missing.close();
    expect(await rejection(noEmbedder.embed(['x'], 'question'))).to.be.instanceOf(EmbedderUnavailable);
  });

  it('loads the model only when its backend is ready, however long that takes', async () => {
    const early = threadedEmbedder({
      logger: testLogger(),
      modelPackage: new URL('./model-at-once.ts', import.meta.url).href,
    });
    const [vector] = await early.embed(['x'], 'question');
    expect(vector).to.have.length(early.dimensions);
    await early.close();
  });

  it('fails waiting work when its thread dies, and starts another one', async () => {
    const dying = threadedEmbedder({
      logger: testLogger(),
      modelPackage: 'data:text/javascript,process.exit(3)',
    });
    for (const urgency of ['question', 'background', 'question'] as const)
      expect(await rejection(dying.embed(['x'], urgency))).to.be.instanceOf(StoreUnavailable);
    await dying.close();
  });

  it('ends waiting work when it is closed', async () => {
    const closing = threadedEmbedder({ logger: testLogger() });
    const waiting = rejection(closing.embed(Array(200).fill('a text '.repeat(50)), 'background'));
    await closing.embed(['ready'], 'question');
    await closing.close();
    expect(await waiting).to.be.instanceOf(StoreUnavailable);
    expect(await rejection(closing.embed(['x'], 'question'))).to.be.instanceOf(StoreUnavailable);
  });

  it('refuses invalid vectors', () => {
    for (const vector of [
      [1, 2],
      [0, 0, 0],
      [1, Number.NaN, 0],
      [Number.POSITIVE_INFINITY, 0, 0],
    ])
      expect(() => normalised([vector], 3)).to.throw(TypeError);
    const [vector] = normalised([[3, 0, 4]], 3);
    expect([...(vector ?? [])].map((value) => value.toFixed(3))).to.deep.equal(['0.600', '0.000', '0.800']);
  });
});
