import { expect } from 'chai';
import { RANKING, scoreOf } from '../../../application/assistant/ranking.ts';
import { SearchIndex } from '../../../application/assistant/search-index.ts';

/** A unit vector from a seed. */
const unit = (dimensions: number, seed: number): Float32Array => {
  let state = seed + 1;
  const vector = Float32Array.from({ length: dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
};

describe('a search', () => {
  /** Scores all vectors; the first one wins a tie. */
  const bruteForce = (vectors: readonly Float32Array[], query: Float32Array, candidates: number): string[] =>
    vectors
      .map((vector, n) => ({
        id: String(n).padStart(4, '0'),
        score: scoreOf(
          vector.reduce((sum, value, i) => sum + value * (query[i] ?? 0), 0),
          0,
          0,
          rulesOf(candidates),
        ),
      }))
      .filter(({ score }) => score > 0)
      .toSorted((a, b) => b.score - a.score)
      .slice(0, candidates)
      .map(({ id }) => id);
  const rulesOf = (candidates: number) => ({
    ...RANKING,
    candidates,
    limit: candidates,
    threshold: 0,
    duplicate: Number.POSITIVE_INFINITY,
  });
  const check = (vectors: readonly Float32Array[], query: Float32Array, candidates: number): void => {
    const index = new SearchIndex(query.length);
    for (const [n, vector] of vectors.entries()) {
      const id = String(n).padStart(4, '0');
      index.put({ kind: 'entity_record', id, title: '', chunks: [{ text: 'x', vector }] });
    }
    const found = index.search({ vector: query, terms: [] }, rulesOf(candidates));
    expect(found.map(({ id }) => id)).to.deep.equal(bruteForce(vectors, query, candidates));
  };

  it('finds the same random vectors as comparing all of them', () => {
    for (let seed = 0; seed < 5; seed += 1) {
      const vectors = Array.from({ length: 1500 }, (_, n) => unit(64, seed * 10_000 + n));
      check(vectors, unit(64, seed + 777_777), 50);
    }
  });

  it('finds the same among vectors that differ by less than a thousandth', () => {
    const query = unit(64, 5);
    const near = Array.from({ length: 600 }, (_, n) => {
      const noise = unit(64, 100 + n);
      return query.map((value, i) => value + (noise[i] ?? 0) * 1e-4 * ((n * 37) % 600));
    });
    const cosine = (vector: Float32Array): number =>
      vector.reduce((sum, value, i) => sum + value * (query[i] ?? 0), 0);
    const sorted = near.toSorted((a, b) => cosine(a) - cosine(b));
    for (const vectors of [near, sorted, sorted.toReversed()])
      check(
        vectors,
        query.map((v) => v / 2),
        20,
      );
  });

  it('keeps the first of equal vectors', () => {
    const query = unit(32, 3);
    const vectors = Array.from({ length: 300 }, (_, n) => unit(32, n % 7));
    check([...vectors, query, ...vectors], query, 10);
  });
});
