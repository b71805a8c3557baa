/** How likely a passage answers a question, for who answers without understanding either. */

/** What the searches say of a passage and its question. */
export interface Evidence {
  readonly cosine: number;
  readonly keyword: number;
  readonly coverage: number;
  readonly margin: number;
  /** Of the question that count as words. */
  readonly terms: number;
}

/** More words say nothing more. */
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
 * Of a logistic regression of “the best passage is of the right source” over these features; fitted on the questions with even
 * numbers of the bench’s labelled set by `node bench/assistant/fit.ts`, which prints how they do on the odd ones.
 */
const WEIGHTS: readonly number[] = [-4.99, 3.21, 1.67, 3.32, 3.28, 2.82];

/** 0..1. */
export const confidenceOf = (evidence: Evidence): number => {
  const sum = featuresOf(evidence).reduce((all, feature, nth) => all + feature * (WEIGHTS[nth] ?? 0), 0);
  return 1 / (1 + Math.exp(-sum));
};

/** From here on a passage is quoted as the answer: 19 of 20 questions without one are below (bench/assistant/fit.ts). */
export const CERTAIN = 0.67;
