import type { SourceKey } from '../ports/corpus-store.ts';
import { sectionsOf } from './chunker.ts';
import { confidenceOf } from './confidence.ts';
import { KeywordIndex, termsOf, type WeightedTerm } from './keywords.ts';
import { chosen, RANKING, type Ranked, type RankingRules, saturated, scoreOf } from './ranking.ts';
import { RowMatrix } from './row-matrix.ts';

/** A source with its chunks, to be indexed. */
export interface IndexedSource extends SourceKey {
  readonly title: string;
  readonly chunks: readonly { readonly text: string; readonly vector: Float32Array | undefined }[];
}

export interface IndexQuery {
  /** Vector of the question; undefined searches by keywords only. */
  readonly vector: Float32Array | undefined;
  readonly terms: readonly WeightedTerm[];
}

/** Neighbouring chunks of a source: one keyword row and a vector per chunk. */
interface Section extends SourceKey {
  /** Number of the first chunk. */
  readonly no: number;
  readonly firstRow: number;
  readonly rows: number;
}

interface Nearest {
  /** The row nearest to the question. */
  readonly row: number;
  readonly cosine: number;
}

interface Candidate extends Pick<Nearest, 'row'> {
  readonly number: number;
  readonly score: number;
}

/** The margin is measured from the source of this rank, or from this score when there are fewer. */
const UNRELATED = { rank: 6, score: 0.2 };

/** Approximate bytes of a section besides its vectors and keywords. */
const SECTION_BYTES = 150;

/**
 * The chunks of one tenant in memory, searched by comparing every vector. Texts are not kept. Rows of removed sources
 * stay until the owner rebuilds the index ({@link SearchIndex.isWorn}).
 */
export class SearchIndex {
  readonly dimensions: number;
  readonly #sections: (Section | undefined)[] = [];
  readonly #bySource = new Map<string, number[]>();
  readonly #keywords = new KeywordIndex();
  readonly #matrix: RowMatrix;
  #gone = 0;

  constructor(dimensions: number) {
    this.dimensions = dimensions;
    this.#matrix = new RowMatrix(dimensions);
  }

  /** Number of chunks that can be found. */
  get size(): number {
    return this.#matrix.rows - this.#gone;
  }

  /** Approximate memory. */
  get bytes(): number {
    return this.#matrix.bytes + this.#keywords.bytes + this.#sections.length * SECTION_BYTES;
  }

  /** Whether enough chunks were removed that the index should be rebuilt. */
  get isWorn(): boolean {
    return this.#gone > 1000 && this.#gone > this.#matrix.rows / 3;
  }

  /** Replaces a source. @throws TypeError for a vector of another length */
  put(source: IndexedSource): void {
    const { kind, id, title, chunks } = source;
    for (const { vector } of chunks)
      if (vector !== undefined && vector.length !== this.dimensions)
        throw new TypeError('a vector of another model');
    this.remove(source);
    const numbers: number[] = [];
    for (const { from, to } of sectionsOf(chunks.map(({ text }) => text))) {
      const inside = chunks.slice(from, to);
      const number = this.#sections.length;
      this.#sections.push({ kind, id, no: from, firstRow: this.#matrix.rows, rows: inside.length });
      numbers.push(number);
      this.#keywords.add(number, termsOf([title, ...inside.map(({ text }) => text)].join('\n')));
      for (const { vector } of inside) this.#matrix.add(vector);
    }
    if (numbers.length > 0) this.#bySource.set(keyOf(source), numbers);
  }

  remove(source: SourceKey): void {
    const numbers = this.#bySource.get(keyOf(source));
    if (numbers === undefined) return;
    this.#bySource.delete(keyOf(source));
    for (const number of numbers) {
      this.#gone += this.#sections[number]?.rows ?? 0;
      this.#sections[number] = undefined;
    }
  }

  /** Best first; only sections above the threshold of the rules. */
  search({ vector, terms }: IndexQuery, rules: RankingRules = RANKING): readonly Ranked[] {
    const { bm25, coverage } = this.#keywords.search(rules.mode === 'embedding' ? [] : terms);
    const compared = rules.mode === 'keyword' ? undefined : vector;
    const keywordOf = (number: number): number => saturated(bm25[number] ?? 0);
    const best = new Best(rules.candidates);
    for (const [number, section] of this.#sections.entries()) {
      if (section === undefined) continue;
      const { row, cosine } = this.#nearest(compared, section);
      const score = scoreOf(cosine, keywordOf(number), coverage[number] ?? 0, rules);
      best.offer({ number, score, row });
    }
    const typical = this.#unrelated(best.found, rules);
    const candidates = best.found.flatMap(({ number, score, row }) => {
      const section = this.#sections[number];
      if (section === undefined) return [];
      const { kind, id, no, firstRow, rows } = section;
      const cosines = Array.from({ length: rows }, (_, at) =>
        compared === undefined ? 0 : this.#matrix.cosine(compared, firstRow + at),
      );
      const found = {
        cosine: Math.max(...cosines),
        keyword: keywordOf(number),
        coverage: coverage[number] ?? 0,
        margin: score - typical,
      };
      const confidence = confidenceOf({ ...found, terms: terms.length });
      return [{ kind, id, no, cosines, ...found, score, confidence, row }];
    });
    return chosen(candidates, rules, (a, b) => this.#matrix.alike(a.row, b.row)).map(
      ({ row: _row, ...ranked }) => ranked,
    );
  }

  #nearest(vector: Float32Array | undefined, section: Section): Nearest {
    const { firstRow, rows } = section;
    if (vector === undefined) return { row: firstRow, cosine: 0 };
    let row = firstRow;
    let cosine = -1;
    for (let one = firstRow; one < firstRow + rows; one += 1) {
      const its = this.#matrix.cosine(vector, one);
      if (its <= cosine) continue;
      row = one;
      cosine = its;
    }
    return { row, cosine };
  }

  /** The score of the sixth best source. */
  #unrelated(found: readonly Candidate[], rules: RankingRules): number {
    const sources = new Set<string>();
    for (const { number, score } of found) {
      const section = this.#sections[number];
      if (section !== undefined) sources.add(keyOf(section));
      if (sources.size === UNRELATED.rank) return score;
    }
    // The candidates may all belong to few long texts.
    const last = found.length === rules.candidates ? (found.at(-1)?.score ?? 0) : 0;
    return Math.max(last, UNRELATED.score);
  }
}

const keyOf = ({ kind, id }: SourceKey): string => `${kind}/${id}`;

/** Keeps the sections with the highest scores. */
class Best {
  readonly #count: number;
  /** Best first. */
  readonly found: Candidate[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  /** A candidate needs a higher score. */
  get least(): number {
    return this.found.length < this.#count
      ? 0
      : (this.found[this.#count - 1]?.score ?? Number.POSITIVE_INFINITY);
  }

  offer(candidate: Candidate): void {
    const { found } = this;
    const { score } = candidate;
    if (score <= this.least) return;
    if (found.length === this.#count) found.pop();
    let at = found.length;
    while (at > 0 && (found[at - 1]?.score ?? Number.POSITIVE_INFINITY) < score) at -= 1;
    found.splice(at, 0, candidate);
  }
}
