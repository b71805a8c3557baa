import { isCertain } from '../../application/assistant/answering.ts';
import { RANKING, type RankingRules } from '../../application/assistant/ranking.ts';
import type { Passage } from '../../application/assistant/tenant-indexes.ts';
import type { Embedder } from '../../application/ports/embedder.ts';
import { answerable, documents, unanswerable } from './corpus/all.ts';
import type { LabelledDocument } from './corpus/document.ts';
import { nearMisses } from './corpus/near-misses.ts';
import { type OfflineIndex, offlineIndex } from './offline-index.ts';

/** A question of the labelled set. */
export interface Case {
  readonly question: string;
  readonly kind: 'answerable' | 'elsewhere' | 'near miss';
  /** Id of the source that answers the question. */
  readonly sourceId: string | undefined;
}

export const cases: readonly Case[] = [
  ...answerable.map(({ question, sourceId }) => ({ question, kind: 'answerable' as const, sourceId })),
  ...unanswerable.map((question) => ({ question, kind: 'elsewhere' as const, sourceId: undefined })),
  ...nearMisses.map((question) => ({ question, kind: 'near miss' as const, sourceId: undefined })),
];

export const labelledIndex = (
  embedder: Embedder,
  part: readonly LabelledDocument[] = documents,
): Promise<OfflineIndex> => offlineIndex(embedder, part);

/** Caches the embedding of each question. */
export const cachingQuestions = (embedder: Embedder): Embedder => {
  const known = new Map<string, Promise<readonly Float32Array[]>>();
  return {
    model: embedder.model,
    dimensions: embedder.dimensions,
    close: () => embedder.close(),
    embed: (texts, urgency) => {
      if (urgency !== 'question') return embedder.embed(texts, urgency);
      const key = texts.join('\n');
      const vectors = known.get(key) ?? embedder.embed(texts, urgency);
      known.set(key, vectors);
      return vectors;
    },
  };
};

/** A question with its result. */
export interface Found extends Case {
  readonly passages: readonly Passage[];
  /** Rank of the answering source among the shown sources; undefined when it is not shown. */
  readonly rank: number | undefined;
  /** Whether the reply quotes a source. Otherwise it says that there is no answer, or no certain answer. */
  readonly isAnswered: boolean;
}

export const askAll = async (
  index: OfflineIndex,
  rules: RankingRules = RANKING,
  asked: readonly Case[] = cases,
): Promise<readonly Found[]> => {
  const found: Found[] = [];
  for (const one of asked) {
    const passages = await index.retrieve(one.question, [], rules);
    const at = [...new Set(passages.map(({ id }) => id))].indexOf(one.sourceId ?? '');
    const rank = at < 0 ? undefined : at + 1;
    found.push({ ...one, passages, rank, isAnswered: isCertain(passages) });
  }
  return found;
};

export interface Quality {
  /** Share of the answerable questions whose source is among the first five shown. */
  readonly recall: number;
  /** Mean of 1/rank; 0 for a source that is not shown. */
  readonly mrr: number;
  /** Shares of the answerable questions that get an answer, and that get it from the right source. */
  readonly answered: number;
  readonly answeredRightly: number;
  /** Share of the answers to answerable questions whose first quoted source is the right one. */
  readonly right: number;
  /** Shares of the unanswerable questions that get an answer nevertheless. */
  readonly wronglyAnswered: number;
  readonly wronglyAnsweredElsewhere: number;
  readonly wronglyAnsweredNearMiss: number;
  /** Shares of the questions for which no passage is shown. */
  readonly emptyAnswerable: number;
  readonly emptyElsewhere: number;
  readonly emptyNearMiss: number;
}

const shareOf = <T>(all: readonly T[], is: (one: T) => boolean): number =>
  all.length === 0 ? 0 : all.filter(is).length / all.length;

const TOP = 5;

export const qualityOf = (found: readonly Found[]): Quality => {
  const of = (kind: Case['kind']) => found.filter((one) => one.kind === kind);
  const good = of('answerable');
  const [elsewhere, near] = [of('elsewhere'), of('near miss')];
  const answered = good.filter(({ isAnswered }) => isAnswered);
  const isRight = ({ rank }: Found): boolean => rank === 1;
  const isAnswered = (one: Found): boolean => one.isAnswered;
  const isEmpty = ({ passages }: Found): boolean => passages.length === 0;
  return {
    recall: shareOf(good, ({ rank }) => rank !== undefined && rank <= TOP),
    mrr: good.reduce((sum, { rank }) => sum + (rank === undefined ? 0 : 1 / rank), 0) / good.length,
    answered: shareOf(good, isAnswered),
    answeredRightly: shareOf(good, (one) => isAnswered(one) && isRight(one)),
    right: shareOf(answered, isRight),
    wronglyAnswered: shareOf([...elsewhere, ...near], isAnswered),
    wronglyAnsweredElsewhere: shareOf(elsewhere, isAnswered),
    wronglyAnsweredNearMiss: shareOf(near, isAnswered),
    emptyAnswerable: shareOf(good, isEmpty),
    emptyElsewhere: shareOf(elsewhere, isEmpty),
    emptyNearMiss: shareOf(near, isEmpty),
  };
};

export interface Part {
  readonly documents: readonly LabelledDocument[];
  readonly cases: readonly Case[];
}

/** Selects `share` of all indexes, evenly spread. */
const isOneOf =
  (share: number) =>
  (index: number): boolean =>
    Math.floor((index + 1) * share) > Math.floor(index * share);

/**
 * A subset of the labelled set, equal in each run: questions of all kinds, their sources, and some other sources.
 * @param crowd share of all sources from which the other sources are taken
 */
export const partOfSet = (share: number, crowd: number = share): Part => {
  if (share >= 1) return { documents, cases };
  const [isAsked, isThere] = [isOneOf(share), isOneOf(crowd)];
  const kept = cases.filter((_, index) => isAsked(index));
  const needed = new Set(kept.map(({ sourceId }) => sourceId));
  return {
    documents: documents.filter(({ id }, index) => needed.has(id) || isThere(index)),
    cases: kept,
  };
};
