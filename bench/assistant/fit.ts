import { featuresOf } from '../../application/assistant/confidence.ts';
import { searchTextsOf } from '../../application/assistant/question.ts';
import { RANKING } from '../../application/assistant/ranking.ts';
import { threadedEmbedder } from '../../infrastructure/embedding/threaded-embedder.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { askAll, type Found, labelledIndex } from './labelled.ts';

/**
 * `node bench/assistant/fit.ts`: fits the weights of application/assistant/confidence.ts on every second question of
 * the labelled set, and the limit `CERTAIN` on all questions. Prints both, with their results on each half of the
 * questions. Run it after a change of ranking, chunks or words.
 */

interface Sample {
  readonly features: readonly number[];
  /** The best passage belongs to the right source. */
  readonly isRight: boolean;
  readonly hasAnswer: boolean;
}

const RIDGE = 0.002;
const STEPS = 60_000;
const RATE = 1;
/**
 * Share of the unanswerable questions with a passage that must stay below `CERTAIN`; above the target of 0.9
 * (quality.ts), as a reserve for other questions.
 */
const REFUSED = 0.93;

export const samplesOf = (found: readonly Found[]): readonly Sample[] =>
  found.flatMap(({ question, passages, rank, kind }) => {
    const [best] = passages;
    if (best === undefined) return [];
    const features = featuresOf({ ...best, terms: searchTextsOf(question).terms.length });
    return [{ features, isRight: rank === 1, hasAnswer: kind === 'answerable' }];
  });

const sumOf = (weights: readonly number[], features: readonly number[]): number =>
  features.reduce((sum, feature, nth) => sum + feature * (weights[nth] ?? 0), 0);

/** Logistic regression with a ridge, by gradient descent; both classes have equal weight. */
export const fitted = (samples: readonly Sample[]): readonly number[] => {
  const width = samples[0]?.features.length ?? 0;
  const right = samples.filter(({ isRight }) => isRight).length;
  let weights = Array.from({ length: width }, () => 0);
  for (let step = 0; step < STEPS; step += 1) {
    const slope = weights.map((weight, nth) => (nth === 0 ? 0 : RIDGE * weight));
    for (const { features, isRight } of samples) {
      const likely = 1 / (1 + Math.exp(-sumOf(weights, features)));
      const part = (likely - (isRight ? 1 : 0)) / (2 * (isRight ? right : samples.length - right));
      for (const [nth, feature] of features.entries()) slope[nth] = (slope[nth] ?? 0) + part * feature;
    }
    weights = weights.map((weight, nth) => weight - RATE * (slope[nth] ?? 0));
  }
  return weights;
};

const confidencesOf = (weights: readonly number[], samples: readonly Sample[]): readonly number[] =>
  samples.map(({ features }) => 1 / (1 + Math.exp(-sumOf(weights, features))));

/** The limit of confidence below which the share `REFUSED` of the unanswerable questions stays. */
export const limitOf = (weights: readonly number[], samples: readonly Sample[]): number => {
  const without = confidencesOf(
    weights,
    samples.filter(({ hasAnswer }) => !hasAnswer),
  ).toSorted((a, b) => a - b);
  return without[Math.ceil(REFUSED * without.length)] ?? 1;
};

const report = (
  name: string,
  weights: readonly number[],
  limit: number,
  samples: readonly Sample[],
): void => {
  const above = (some: readonly Sample[]): string => {
    const certain = confidencesOf(weights, some).filter((one) => one >= limit).length;
    return `${certain} of ${some.length}`;
  };
  const withAnswer = samples.filter(({ hasAnswer }) => hasAnswer);
  const without = samples.filter(({ hasAnswer }) => !hasAnswer);
  const right = samples.filter(({ isRight }) => isRight);
  console.log(
    `${name}: certain of ${above(withAnswer)} with an answer (${above(right)} whose source is on top), ${above(without)} without`,
  );
};

export const main = async (embedder = threadedEmbedder({ logger: createLogger('error') })): Promise<void> => {
  const found = await askAll(await labelledIndex(embedder), { ...RANKING, threshold: 0 });
  await embedder.close();
  const samples = samplesOf(found);
  const even = samples.filter((_, nth) => nth % 2 === 0);
  const odd = samples.filter((_, nth) => nth % 2 === 1);
  const weights = fitted(even);
  const limit = limitOf(weights, samples);
  console.log(
    `WEIGHTS = [${weights.map((weight) => weight.toFixed(2)).join(', ')}], CERTAIN = ${limit.toFixed(3)}`,
  );
  report('even', weights, limit, even);
  report('odd', weights, limit, odd);
};

if (import.meta.main) await main();
