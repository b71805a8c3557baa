import type { Ranked } from './ranking.ts';

/** Scores of a passage for its question. */
export interface Evidence extends Pick<Ranked, 'cosine' | 'keyword' | 'coverage' | 'margin'> {
  /** Number of words of the question, without common ones. */
  readonly terms: number;
}

/** Words of a question beyond this number do not raise the confidence. */
const MANY_TERMS = 8;

export const featuresOf = ({ cosine, keyword, coverage, margin, terms }: Evidence): readonly number[] => [
  1,
  cosine,
  keyword,
  coverage,
  margin,
  Math.min(terms, MANY_TERMS) / MANY_TERMS,
];

/**
 * Weights of a logistic regression of "the best passage has the right source" over {@link featuresOf}. The script
 * `bench/assistant/fit.ts` fits them on every second labelled question, and prints results for both halves.
 */
const WEIGHTS: readonly number[] = [-4.99, 3.21, 1.67, 3.32, 3.28, 2.82];

/** The likelihood (0..1) that a passage answers the question. */
export const confidenceOf = (evidence: Evidence): number => {
  const sum = featuresOf(evidence).reduce((all, feature, nth) => all + feature * (WEIGHTS[nth] ?? 0), 0);
  return 1 / (1 + Math.exp(-sum));
};

/** Least confidence of the best passage for quoting passages as the answer (chosen by bench/assistant/fit.ts). */
export const CERTAIN = 0.67;
