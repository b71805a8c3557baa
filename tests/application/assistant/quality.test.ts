import { expect } from 'chai';
import { RANKING } from '../../../application/assistant/ranking.ts';
import {
  askAll,
  cachingQuestions,
  labelledIndex,
  partOfSet,
  qualityOf,
} from '../../../bench/assistant/labelled.ts';
import { threadedEmbedder } from '../../../infrastructure/embedding/threaded-embedder.ts';
import { testLogger } from '../../support/fakes.ts';

/**
 * Runs a part of the bench’s labelled set through the real embedder. The floors are slightly below the measured values;
 * `npm run bench -- --only assistant` runs the whole set.
 */
describe('the quality of answers', function () {
  this.timeout(240_000);
  const embedder = cachingQuestions(threadedEmbedder({ logger: testLogger() }));
  const part = partOfSet(0.3, 0.15);
  let index: Awaited<ReturnType<typeof labelledIndex>>;

  before(async () => {
    index = await labelledIndex(embedder, part.documents);
  });
  after(() => embedder.close());

  it('reaches the measured values', async () => {
    const quality = qualityOf(await askAll(index, RANKING, part.cases));
    expect(quality.recall, '0.93 with 202 sources and 67 questions').to.be.at.least(0.9);
    expect(quality.mrr, '0.85').to.be.at.least(0.82);
    expect(quality.wronglyAnswered, '0.03, one of 29').to.be.at.most(0.1);
    expect(quality.answered, '0.51').to.be.at.least(0.45);
    expect(quality.right, '0.97').to.be.at.least(0.93);
    expect(quality.emptyAnswerable, 'none').to.be.at.most(0.02);
    expect(quality.emptyElsewhere, '0.21').to.be.at.least(0.1);
  });

  it('is better than with words only or embeddings only', async () => {
    const of = async (mode: 'hybrid' | 'keyword' | 'embedding') =>
      qualityOf(await askAll(index, { ...RANKING, mode, threshold: 0 }, part.cases));
    const [hybrid, keyword, embedding] = [await of('hybrid'), await of('keyword'), await of('embedding')];
    expect(hybrid.recall).to.be.greaterThan(keyword.recall).and.greaterThan(embedding.recall);
    expect(hybrid.mrr).to.be.greaterThan(keyword.mrr).and.greaterThan(embedding.mrr);
  });
});
