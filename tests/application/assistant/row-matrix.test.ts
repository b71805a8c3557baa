import { expect } from 'chai';
import fc from 'fast-check';
import { dotsOf, LANES, largestOf } from '../../../application/assistant/integer-dot.ts';
import { RANKING, scoreOf } from '../../../application/assistant/ranking.ts';
import { RowMatrix } from '../../../application/assistant/row-matrix.ts';
import { SearchIndex } from '../../../application/assistant/search-index.ts';

describe('products of small whole numbers', () => {
  it('are summed as one by one, up to the largest that there are', () => {
    const length = fc.constantFrom(LANES, LANES * 3, 512);
    fc.assert(
      fc.property(length, fc.integer({ min: 1, max: 200 }), fc.nat(), (width, rows, seed) => {
        const most = largestOf(width);
        const at = (i: number, top: number): number => {
          const drawn = Math.imul(i + 1, 2_654_435_761 + seed) >>> 0;
          // Every fourth is the largest or smallest there is.
          return drawn % 4 === 0 ? (drawn & 8 ? top : -top) : (drawn % (2 * top + 1)) - top;
        };
        const query = Int16Array.from({ length: width }, (_, i) => at(i, most));
        const all = Int8Array.from({ length: width * rows }, (_, i) => at(i + 7, 127));
        const sums = Array.from({ length: rows }, (_, row) =>
          query.reduce((sum, value, i) => sum + value * (all[row * width + i] ?? 0), 0),
        );
        const cut = Math.floor(rows / 2) * width;
        expect([...dotsOf(query, [all.subarray(0, cut), all.subarray(cut)])]).to.deep.equal(sums);
      }),
      { numRuns: 60 },
    );
    const full = new Int16Array(512).fill(largestOf(512));
    for (const value of [127, -128]) {
      const sum = full.reduce((all, one) => all + one * value, 0);
      expect([...dotsOf(full, [new Int8Array(512).fill(value)])]).to.deep.equal([sum]);
    }
    expect(() => dotsOf(new Int16Array(LANES + 1), [])).to.throw(RangeError);
  });
});

/** Of all sizes, with components that differ by many powers of ten, and such as nothing is known of. */
const component = fc.oneof(
  fc.float({ min: -1, max: 1, noNaN: true }),
  fc.constantFrom(0, 1, -1, 1e-45, -1e-38, 1e-7, 1e20, 0.999999),
);
const vectorOf = (dimensions: number) =>
  fc
    .array(component, { minLength: dimensions, maxLength: dimensions })
    .map((values) => Float32Array.from(values));

describe('the rough comparison of rows', () => {
  it('is never below the exact one, for whatever vectors', () => {
    for (const dimensions of [4, 16, 20]) {
      const rows = fc.array(fc.option(vectorOf(dimensions), { nil: undefined }), { maxLength: 70 });
      fc.assert(
        fc.property(vectorOf(dimensions), rows, (query, all) => {
          const matrix = new RowMatrix(dimensions);
          for (const vector of all) matrix.add(vector);
          const ceilings = matrix.ceilings(query);
          expect(ceilings).to.have.length(all.length);
          for (const [row, ceiling] of ceilings.entries())
            expect(ceiling).to.be.at.least(matrix.cosine(query, row));
        }),
      );
    }
  });

  it('holds where something is not finite, and is close for vectors of length one', () => {
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY]) {
      const matrix = new RowMatrix(4);
      matrix.add(Float32Array.from([odd, 0, 0, 1]));
      matrix.add(Float32Array.from([1, 0, 0, 0]));
      for (const query of [Float32Array.from([1, 0, 0, 0]), Float32Array.from([odd, 0, 0, 0])])
        for (const ceiling of matrix.ceilings(query)) expect(ceiling).to.be.at.least(1);
    }
    const matrix = new RowMatrix(512);
    const drawn = Array.from({ length: 200 }, (_, n) => unit(512, n));
    for (const vector of drawn) matrix.add(vector);
    const query = unit(512, 999);
    for (const [row, ceiling] of matrix.ceilings(query).entries())
      expect(ceiling - matrix.cosine(query, row)).to.be.within(0, 0.03);
  });
});

/** A vector of length one, drawn by a number. */
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
  /** What scoring everything gives; the first one wins a tie for a place. */
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

  it('finds what comparing every vector finds, of random ones', () => {
    for (let seed = 0; seed < 5; seed += 1) {
      const vectors = Array.from({ length: 1500 }, (_, n) => unit(64, seed * 10_000 + n));
      check(vectors, unit(64, seed + 777_777), 50);
    }
  });

  it('…and of such as differ by less than the rough ones can tell, in whatever order', () => {
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

  it('…and of equal ones, of which the first keep their places', () => {
    const query = unit(32, 3);
    const vectors = Array.from({ length: 300 }, (_, n) => unit(32, n % 7));
    check([...vectors, query, ...vectors], query, 10);
  });
});
