import { nameOfSource, type SourceKey } from '../ports/corpus-store.ts';

/**
 * Combines vector search and keyword search into one list (decisions, section 7) by a weighted sum of the cosine, BM25
 * and the coverage of the question's words. Unlike a fusion of ranks, the sum also tells how good the best passage is,
 * so that a threshold detects questions without an answer.
 */
export interface RankingRules {
  readonly mode: 'hybrid' | 'keyword' | 'embedding';
  /** Number of sections with the best scores, from which the shown ones are chosen. */
  readonly candidates: number;
  readonly cosineWeight: number;
  readonly keywordWeight: number;
  readonly coverageWeight: number;
  /** Least score of a shown section. */
  readonly threshold: number;
  readonly limit: number;
  /** Most sections of one source, unless all sections found are of that source. */
  readonly perSource: number;
  /** If two sections' best chunks have at least this cosine, the section with the lower score is left out. */
  readonly duplicate: number;
}

export const RANKING: RankingRules = {
  mode: 'hybrid',
  candidates: 50,
  cosineWeight: 1,
  keywordWeight: 0.2,
  coverageWeight: 0.5,
  threshold: 0.2,
  limit: 6,
  perSource: 2,
  duplicate: 0.99,
};

/** A section of a source (neighbouring chunks) with its scores. */
export interface Ranked extends SourceKey {
  /** Number of the section's first chunk within the source, from 0. */
  readonly no: number;
  /** Cosine of each chunk, -1..1; 0 without a vector. */
  readonly cosines: readonly number[];
  /** The highest of `cosines`. */
  readonly cosine: number;
  /** BM25, 0..1: see {@link saturated}. */
  readonly keyword: number;
  /** Share of the question's words that the section has, weighted by rarity, 0..1. */
  readonly coverage: number;
  /** 0..1; part of the answer. */
  readonly score: number;
  /** `score` minus the score of the sixth best source, which is rarely relevant (`UNRELATED` in search-index.ts). */
  readonly margin: number;
  /** Likelihood that the section answers the question, 0..1: see confidence.ts. */
  readonly confidence: number;
}

const HALF = 8;

/** Maps BM25, which is unbounded, to 0..1. */
export const saturated = (bm25: number): number => bm25 / (bm25 + HALF);

const clamped = (value: number): number => (value > 0 ? Math.min(value, 1) : 0);

/** The score, 0..1, of a `cosine` in -1..1, and of `keyword` and `coverage` in 0..1. */
export const scoreOf = (cosine: number, keyword: number, coverage: number, rules: RankingRules): number => {
  const { cosineWeight, keywordWeight, coverageWeight } = rules;
  const words = keywordWeight + coverageWeight;
  const named = keywordWeight * keyword + coverageWeight * coverage;
  switch (rules.mode) {
    case 'hybrid':
      return clamped((cosineWeight * cosine + named) / (cosineWeight + words));
    case 'keyword':
      return clamped(named / words);
    case 'embedding':
      return clamped(cosine);
    default:
      return rules.mode satisfies never;
  }
};

/** Orders by score, best first, then by cosine, id, kind and number, so that the order is stable. */
export const byScore = (a: Ranked, b: Ranked): number =>
  b.score - a.score ||
  b.cosine - a.cosine ||
  compareTexts(a.id, b.id) ||
  compareTexts(a.kind, b.kind) ||
  a.no - b.no;

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * Selects at most `limit` candidates with at least the score of the threshold, without duplicates. Of one source it
 * selects at most `perSource`, unless all candidates are of that source.
 * @param alike cosine of the best chunks of two candidates
 */
export const chosen = <R extends Ranked>(
  candidates: readonly R[],
  rules: RankingRules,
  alike: (a: R, b: R) => number,
): readonly R[] => {
  const good = candidates.filter(({ score }) => score >= rules.threshold && score > 0).toSorted(byScore);
  const found: R[] = [];
  const extra: R[] = [];
  const taken = new Map<string, number>();
  for (const one of good) {
    if (found.length >= rules.limit) break;
    if (found.some((other) => alike(one, other) >= rules.duplicate)) continue;
    const source = nameOfSource(one);
    const count = taken.get(source) ?? 0;
    if (count >= rules.perSource) extra.push(one);
    else {
      taken.set(source, count + 1);
      found.push(one);
    }
  }
  return taken.size > 1 ? found : [...found, ...extra].slice(0, rules.limit);
};
