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

  it('finds the same vectors as a full comparison when vectors are very close to each other', () => {
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

/** The corpus has topics of 20 chunks around random vectors: so many that the search estimates cosines first. */
describe('a search in a large corpus', () => {
  const DIMENSIONS = 512;
  const TOPICS = 100;
  const EACH = 20;
  const near = (vector: Float32Array, seed: number, distance: number): Float32Array => {
    const noise = unit(DIMENSIONS, seed);
    const moved = vector.map((value, i) => value + distance * (noise[i] ?? 0));
    const length = Math.hypot(...moved);
    return moved.map((value) => value / length);
  };
  const topics = Array.from({ length: TOPICS }, (_, n) => unit(DIMENSIONS, n));
  const vectors = topics.flatMap((topic, n) =>
    Array.from({ length: EACH }, (_, m) => near(topic, 1_000_000 + n * EACH + m, 1)),
  );
  const cosine = (a: Float32Array, b: Float32Array): number =>
    a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0);
  const rules = { ...RANKING, limit: 10, perSource: 10, threshold: 0 };
  const filled = (): SearchIndex => {
    const index = new SearchIndex(DIMENSIONS);
    for (const [n, vector] of vectors.entries())
      index.put({ kind: 'entity_record', id: `${n}`, title: '', chunks: [{ text: 'x', vector }] });
    return index;
  };

  it('finds for each topic the same ten chunks as comparing all vectors', () => {
    const index = filled();
    for (const [n, topic] of topics.entries()) {
      const question = near(topic, 2_000_000 + n, 1);
      const found = index.search({ vector: question, terms: [] }, rules).map(({ id }) => Number(id));
      const exact = [...vectors.keys()]
        .map((id) => ({ id, cosine: cosine(vectors[id] ?? question, question) }))
        .toSorted((a, b) => b.cosine - a.cosine)
        .map(({ id }) => id);
      expect(found).to.deep.equal(exact.slice(0, 10));
    }
  });

  it('finds a chunk without a vector by its words when most signs of the question are positive', () => {
    const random = unit(DIMENSIONS, 3_000_000);
    let positive = random.filter((value) => value > 0).length;
    // Has more positive signs than negative ones, like the vectors of some questions.
    const question = random.map((value) => {
      if (value > 0 || positive >= 280) return value;
      positive += 1;
      return -value;
    });
    const index = new SearchIndex(DIMENSIONS);
    for (let n = 0; n < 1000; n += 1) {
      const chunks = Array.from({ length: 8 }, (_, m) => ({
        text: 'x'.repeat(120),
        vector: near(question, 4_000_000 + n * 8 + m, 6),
      }));
      index.put({ kind: 'entity_record', id: `${n}`, title: '', chunks });
    }
    const chunks = [{ text: 'warranty pump', vector: undefined }];
    index.put({ kind: 'entity_record', id: 'late', title: '', chunks });
    const terms = ['warranti', 'pump', 'brass', 'valve', 'spare'].map((term) => ({ term, weight: 1 }));
    const found = index.search({ vector: question, terms }, rules).map(({ id }) => id);
    expect(found).to.include('late');
  });

  it('finds records of one chunk although estimates for records of many chunks vary more', () => {
    const question = unit(DIMENSIONS, 5_000_000);
    /** A unit vector with exactly this cosine to the question. */
    const withCosine = (wanted: number, seed: number): Float32Array => {
      const noise = unit(DIMENSIONS, seed);
      const along = cosine(noise, question);
      const across = noise.map((value, i) => value - along * (question[i] ?? 0));
      const rest = Math.sqrt(1 - wanted ** 2) / Math.hypot(...across);
      return across.map((value, i) => wanted * (question[i] ?? 0) + rest * value);
    };
    const index = new SearchIndex(DIMENSIONS);
    const put = (id: string, count: number, wanted: number): void => {
      const chunks = Array.from({ length: count }, (_, m) => ({
        text: 'x',
        vector: withCosine(wanted, 6_000_000 + Number(id) * 100 + m),
      }));
      index.put({ kind: 'entity_record', id, title: '', chunks });
    };
    for (let n = 0; n < 150; n += 1) put(`${n}`, 32, 0.35);
    const records = Array.from({ length: 10 }, (_, n) => `${1000 + n}`);
    for (const id of records) put(id, 1, 0.5);
    const found = index.search({ vector: question, terms: [] }, rules).map(({ id }) => id);
    expect(found).to.have.members(records);
  });

  it('finds neither removed sources nor the former vector of a replaced one', () => {
    const index = filled();
    const [topic = unit(DIMENSIONS, 0), other = topic] = topics;
    for (let n = 0; n < EACH; n += 2) index.remove({ kind: 'entity_record', id: `${n}` });
    const chunks = [{ text: 'x', vector: near(other, 4_000_000, 0.1) }];
    index.put({ kind: 'entity_record', id: '1', title: '', chunks });
    const idsAbout = (vector: Float32Array) => index.search({ vector, terms: [] }, rules).map(({ id }) => id);
    expect(idsAbout(topic).slice(0, 9)).to.have.members(['3', '5', '7', '9', '11', '13', '15', '17', '19']);
    expect(idsAbout(other)[0]).to.equal('1');
  });
});
