import type { SourceKey } from '../ports/corpus-store.ts';

/**
 * How the searches become one list (decisions, section 7): a weighted sum of the cosine, of BM25, and of how much of the
 * question the words of a passage cover. On the labelled set of the bench it puts the right source among the first five
 * more often than a fusion of ranks (0.92 against 0.88); and unlike that it says how good the best one is, so that a
 * threshold can tell a question that nothing answers.
 */
export interface RankingRules {
  readonly mode: 'hybrid' | 'keyword' | 'embedding';
  /** Sections that are looked at more closely. */
  readonly candidates: number;
  readonly cosineWeight: number;
  readonly keywordWeight: number;
  readonly coverageWeight: number;
  /** What a chunk must score to be shown. */
  readonly threshold: number;
  readonly limit: number;
  /** Of one source, unless it is the only one. */
  readonly perSource: number;
  /** Of two chunks that are this alike (cosine) the better one is shown. */
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

/** A section of a source (neighbouring chunks), and what the searches say of it. */
export interface Ranked extends SourceKey {
  /** Its first chunk, of the source's chunks, from 0. */
  readonly no: number;
  /** Of each of its chunks, -1..1; 0 for one without a vector. */
  readonly cosines: readonly number[];
  /** The highest of them. */
  readonly cosine: number;
  /** BM25, 0..1: see {@link saturated}. */
  readonly keyword: number;
  /** How much of the question its words cover, 0..1. */
  readonly coverage: number;
  /** 0..1: what the answer shows. */
  readonly score: number;
  /** How far its score is above that of the sixth best source, which answers hardly any question. */
  readonly margin: number;
  /** How likely it answers the question, 0..1: see confidence.ts. */
  readonly confidence: number;
}

const HALF = 8;

/** BM25, which has no upper end, on a scale from 0 to 1. */
export const saturated = (bm25: number): number => bm25 / (bm25 + HALF);

const clamped = (value: number): number => (value > 0 ? Math.min(value, 1) : 0);

/** 0..1. `cosine` in -1..1, the others in 0..1. */
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

/** Best first; a tie goes by id, so that the same question has the same answer. */
export const byScore = (a: Ranked, b: Ranked): number =>
  b.score - a.score ||
  b.cosine - a.cosine ||
  compareTexts(a.id, b.id) ||
  compareTexts(a.kind, b.kind) ||
  a.no - b.no;

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);

/**
 * What is shown of the candidates: those above the threshold, few of one source, none twice.
 * @param alike cosine of two chunks
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
    const source = `${one.kind}/${one.id}`;
    const count = taken.get(source) ?? 0;
    if (count >= rules.perSource) extra.push(one);
    else {
      taken.set(source, count + 1);
      found.push(one);
    }
  }
  return taken.size > 1 ? found : [...found, ...extra].slice(0, rules.limit);
};
