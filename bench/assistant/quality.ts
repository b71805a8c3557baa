import { RANKING } from '../../application/assistant/ranking.ts';
import { threadedEmbedder } from '../../infrastructure/embedding/threaded-embedder.ts';
import { createLogger } from '../../infrastructure/logger.ts';
import { type Line, percent } from '../report.ts';
import { askAll, cachingQuestions, labelledIndex, partOfSet, type Quality, qualityOf } from './labelled.ts';

const RECALL = 0.9;
const REFUSED = 0.9;

/**
 * Measures the assistant's quality on the labelled set, with the product's chunker, embedder, index, ranking and
 * answerer. The yardsticks rank by keywords alone and by embeddings alone, without the threshold, which is meant only
 * for the combined score.
 */
export const benchAssistantQuality = async (scale: number): Promise<Line[]> => {
  const part = partOfSet(scale);
  const embedder = cachingQuestions(threadedEmbedder({ logger: createLogger('error') }));
  try {
    const index = await labelledIndex(embedder, part.documents);
    const by = async (mode: 'hybrid' | 'keyword' | 'embedding'): Promise<Quality> => {
      const rules = mode === 'hybrid' ? RANKING : { ...RANKING, mode, threshold: 0 };
      return qualityOf(await askAll(index, rules, part.cases));
    };
    const [hybrid, keyword, embedding] = [await by('hybrid'), await by('keyword'), await by('embedding')];
    return linesOf(hybrid, keyword, embedding);
  } finally {
    await embedder.close();
  }
};

const linesOf = (hybrid: Quality, keyword: Quality, embedding: Quality): Line[] => {
  const refused = 1 - hybrid.wronglyAnswered;
  const beside = (what: string, value: number) => ({ name: what, value: percent(value) });
  return [
    {
      figure: 'assistant: recall@5',
      value: percent(hybrid.recall),
      yardstick: beside('by keywords alone', keyword.recall),
      target: {
        text: `≥ ${RECALL * 100} %, > 1`,
        met: hybrid.recall >= RECALL && hybrid.recall > keyword.recall,
      },
    },
    {
      figure: 'assistant: recall@5',
      value: percent(hybrid.recall),
      yardstick: beside('by embeddings alone', embedding.recall),
      target: { text: '> 1', met: hybrid.recall > embedding.recall },
    },
    {
      figure: 'assistant: MRR',
      value: percent(hybrid.mrr),
      yardstick: beside('by keywords alone', keyword.mrr),
      target: { text: '> 1', met: hybrid.mrr > keyword.mrr },
    },
    {
      figure: 'assistant: MRR',
      value: percent(hybrid.mrr),
      yardstick: beside('by embeddings alone', embedding.mrr),
      target: { text: '> 1', met: hybrid.mrr > embedding.mrr },
    },
    {
      figure: 'assistant: unanswerable, refused',
      value: percent(refused),
      target: { text: `≥ ${REFUSED * 100} %`, met: refused >= REFUSED },
    },
    { figure: 'assistant: unanswerable, answered (wrong)', value: percent(hybrid.wronglyAnswered) },
    { figure: '… of those from elsewhere', value: percent(hybrid.wronglyAnsweredElsewhere) },
    { figure: '… of near misses', value: percent(hybrid.wronglyAnsweredNearMiss) },
    { figure: 'assistant: answerable, answered', value: percent(hybrid.answered) },
    { figure: '… of these, from the right source', value: percent(hybrid.right) },
    { figure: 'nothing at all shown: unanswerable from elsewhere', value: percent(hybrid.emptyElsewhere) },
    { figure: '… near misses', value: percent(hybrid.emptyNearMiss) },
    { figure: '… answerable', value: percent(hybrid.emptyAnswerable) },
  ];
};
