import { nameOfSource, type SourceKey } from '../ports/corpus-store.ts';
import { sectionsOf } from './chunker.ts';
import { confidenceOf } from './confidence.ts';
import { KeywordIndex, termsOf, type WeightedTerm } from './keywords.ts';
import { chosen, RANKING, type Ranked, type RankingRules, saturated, scoreOf } from './ranking.ts';
import { SignCodes } from './sign-codes.ts';

/** A source with its chunks, to be indexed. */
interface IndexedSource extends SourceKey {
  readonly title: string;
  readonly chunks: readonly { readonly text: string; readonly vector: Float32Array | undefined }[];
}

export interface IndexQuery {
  /** Vector of the question; undefined searches by keywords only. */
  readonly vector: Float32Array | undefined;
  readonly terms: readonly WeightedTerm[];
}

type Vector = Float32Array | undefined;

/** Neighbouring chunks of a source: one keyword row and a vector per chunk. */
interface Section extends SourceKey {
  /** Number of the first chunk. */
  readonly no: number;
  readonly vectors: readonly Vector[];
  /** Row of the first chunk's sign code; the others follow. */
  readonly row: number;
}

interface Candidate {
  readonly section: Section;
  readonly number: number;
  readonly score: number;
}

/** A search compares at least `least` chunks and `share` of all exactly. Sign codes select them (decision 78). */
const COMPARED = { least: 1500, share: 0.1 };
/** Standard error of an estimated cosine. The best of n estimates is too high by about √(ln n) times this error. */
const ESTIMATE_ERROR = 0.045;

/** The margin is measured from the score of the source at `rank`; with fewer sources, usually from `score`. */
const UNRELATED = { rank: 6, score: 0.2 };

/** Approximate bytes of a section, and of a vector without its numbers. */
const SECTION_BYTES = 200;
const VECTOR_BYTES = 150;

/**
 * An index of one tenant's chunks in memory, searched by vectors and keywords. Does not keep texts. Removed sections
 * leave a gap until the owner rebuilds the index ({@link SearchIndex.isWorn}).
 */
export class SearchIndex {
  readonly dimensions: number;
  readonly #sections: (Section | undefined)[] = [];
  readonly #bySource = new Map<string, number[]>();
  readonly #keywords = new KeywordIndex();
  readonly #codes: SignCodes;
  readonly #compared: typeof COMPARED;
  #size = 0;
  #gone = 0;

  /** @param compared how many chunks a search compares exactly */
  constructor(dimensions: number, compared = COMPARED) {
    this.dimensions = dimensions;
    this.#compared = compared;
    this.#codes = new SignCodes(dimensions);
  }

  /** Number of chunks in the index, without removed ones. */
  get size(): number {
    return this.#size;
  }

  /** Approximate memory in bytes. */
  get bytes(): number {
    const vector = VECTOR_BYTES + this.dimensions * Float32Array.BYTES_PER_ELEMENT;
    const sections = this.#sections.length * SECTION_BYTES;
    return this.#size * vector + this.#codes.bytes + this.#keywords.bytes + sections;
  }

  /** Whether so many chunks were removed that the index should be rebuilt. */
  get isWorn(): boolean {
    return this.#gone > 1000 && this.#gone > this.#size / 2;
  }

  /** Adds or replaces a source. @throws TypeError for a vector of another length */
  put(source: IndexedSource): void {
    const { kind, id, title, chunks } = source;
    for (const { vector } of chunks)
      if (vector !== undefined && vector.length !== this.dimensions)
        throw new TypeError('a vector of another model');
    this.remove(source);
    const numbers: number[] = [];
    for (const { from, to } of sectionsOf(chunks.map(({ text }) => text))) {
      const inside = chunks.slice(from, to);
      const vectors = inside.map(({ vector }) => vector);
      numbers.push(this.#sections.push({ kind, id, no: from, vectors, row: this.#codes.rows }) - 1);
      for (const vector of vectors) this.#codes.add(vector);
      this.#keywords.add(termsOf([title, ...inside.map(({ text }) => text)].join('\n')));
    }
    this.#size += chunks.length;
    if (numbers.length > 0) this.#bySource.set(nameOfSource(source), numbers);
  }

  remove(source: SourceKey): void {
    const numbers = this.#bySource.get(nameOfSource(source));
    if (numbers === undefined) return;
    this.#bySource.delete(nameOfSource(source));
    for (const number of numbers) {
      const rows = this.#sections[number]?.vectors.length ?? 0;
      this.#size -= rows;
      this.#gone += rows;
      this.#sections[number] = undefined;
    }
  }

  /** Best first; only sections whose score is at least the threshold of the rules. */
  search({ vector, terms }: IndexQuery, rules: RankingRules = RANKING): readonly Ranked[] {
    const { bm25, coverage } = this.#keywords.search(rules.mode === 'embedding' ? [] : terms);
    const compared = rules.mode === 'keyword' ? undefined : vector;
    const keywordOf = (number: number): number => saturated(bm25[number] ?? 0);
    const cosinesOf = ({ vectors }: Section): number[] => vectors.map((one) => cosineOf(compared, one));
    const scoreAt = (number: number, cosine: number): number =>
      scoreOf(cosine, keywordOf(number), coverage[number] ?? 0, rules);
    const scored = this.#likely(compared, scoreAt).flatMap((number): Candidate[] => {
      const section = this.#sections[number];
      if (section === undefined) return [];
      const score = scoreAt(number, Math.max(...cosinesOf(section)));
      return score > 0 ? [{ section, number, score }] : [];
    });
    const best = scored.toSorted((a, b) => b.score - a.score).slice(0, rules.candidates);
    const typical = unrelatedScore(best, rules);
    const candidates = best.map(({ section, number, score }) => {
      const { kind, id, no, vectors } = section;
      const cosines = cosinesOf(section);
      const cosine = Math.max(...cosines);
      const found = {
        cosine,
        keyword: keywordOf(number),
        coverage: coverage[number] ?? 0,
        margin: score - typical,
      };
      const confidence = confidenceOf({ ...found, terms: terms.length });
      const nearest = vectors[cosines.indexOf(cosine)];
      return { kind, id, no, cosines, ...found, score, confidence, nearest };
    });
    return chosen(candidates, rules, (a, b) => cosineOf(a.nearest, b.nearest)).map(
      ({ nearest: _nearest, ...ranked }) => ranked,
    );
  }

  /** Numbers of the sections to compare exactly: those with the best estimated scores; all of a small index. */
  #likely(vector: Vector, scoreAt: (number: number, cosine: number) => number): readonly number[] {
    const sections = this.#sections;
    if (vector === undefined || this.#size <= this.#compared.least) return [...sections.keys()];
    const estimate = this.#codes.estimator(vector);
    const scores = new Float32Array(sections.length);
    for (const [number, section] of sections.entries()) {
      if (section === undefined) continue;
      const { vectors, row } = section;
      let cosine = -1;
      for (const [nth, one] of vectors.entries()) {
        cosine = Math.max(cosine, one === undefined ? 0 : estimate(row + nth));
      }
      const excess = ESTIMATE_ERROR * Math.sqrt(Math.log(vectors.length));
      scores[number] = scoreAt(number, cosine > 0 ? Math.max(0, cosine - excess) : cosine);
    }
    const { least, share } = this.#compared;
    const count = Math.ceil(sections.length * Math.max(share, least / (this.#size + this.#gone)));
    const threshold = scores.toSorted().at(-count) ?? 0;
    return [...scores.keys()].filter((number) => (scores[number] ?? 0) >= threshold);
  }
}

/** Cosine of two unit vectors; 0 if either is undefined. */
const cosineOf = (one: Vector, other: Vector): number => {
  if (one === undefined || other === undefined) return 0;
  // Four independent sums for pipelining; every model's number of dimensions is a multiple of four.
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let at = 0; at < one.length; at += 4) {
    a += (one[at] ?? 0) * (other[at] ?? 0);
    b += (one[at + 1] ?? 0) * (other[at + 1] ?? 0);
    c += (one[at + 2] ?? 0) * (other[at + 2] ?? 0);
    d += (one[at + 3] ?? 0) * (other[at + 3] ?? 0);
  }
  return a + b + c + d;
};

/** The score from which margins are measured, as {@link UNRELATED} says. */
const unrelatedScore = (found: readonly Candidate[], rules: RankingRules): number => {
  const sources = new Set<string>();
  for (const { section, score } of found) {
    sources.add(nameOfSource(section));
    if (sources.size === UNRELATED.rank) return score;
  }
  // A full list of candidates may have fewer sources, since sources with long texts have many sections.
  const last = found.length === rules.candidates ? (found.at(-1)?.score ?? 0) : 0;
  return Math.max(last, UNRELATED.score);
};
