import { truncate } from '../../domain/core/text.ts';
import { nameOfSource } from '../ports/corpus-store.ts';
import { termsOf } from './keywords.ts';
import { searchTextsOf, type Turn } from './question.ts';
import type { Passage } from './tenant-indexes.ts';

export interface Quote {
  readonly title: string;
  /** Sentences in order of appearance, verbatim except for white space and a cut at `QUOTE_CHARACTERS`. */
  readonly texts: readonly string[];
}

const QUOTES = 3;
const QUOTE_CHARACTERS = 320;
/** Passages of other sources are quoted when their score reaches this share of the best passage's score. */
const OTHER_SOURCE = 0.93;
/** Largest difference between the scores of the best sentence and of another quoted sentence. */
const WITHIN = 0.4;

const COVERAGE_WEIGHT = 0.6;
const KIND_WEIGHT = 0.25;
const NEWS_WEIGHT = 0.25;
/** A sentence with this many words that are in neither question nor title gets the full weight for new words. */
const NEWS = 5;

interface Sentence {
  readonly source: number;
  readonly at: number;
  readonly text: string;
  readonly cosine: number;
  readonly terms: ReadonlySet<string>;
  /** Terms of the source's title. */
  readonly titled: ReadonlySet<string>;
}

/** Chooses at most three sentences, from the best source and from passages with a similar score. */
export const quotesOf = (
  message: string,
  history: readonly Turn[],
  passages: readonly Passage[],
): readonly Quote[] => {
  const best = passages[0];
  if (best === undefined) return [];
  const good = passages.filter(
    ({ kind, id, score }) => (kind === best.kind && id === best.id) || score >= best.score * OTHER_SOURCE,
  );
  const sources = [...Map.groupBy(good, nameOfSource).values()];
  const sentences = sources.flatMap((some, source) => sentencesOf(some, source));
  const scores = scoresOf(message, history, sentences);
  const ordered = sentences.toSorted((a, b) => (scores.get(b) ?? 0) - (scores.get(a) ?? 0));
  const top = ordered[0] === undefined ? 0 : (scores.get(ordered[0]) ?? 0);
  const chosen = ordered.slice(0, QUOTES).filter((sentence) => (scores.get(sentence) ?? 0) >= top - WITHIN);
  return sources.flatMap((some, source) => {
    const texts = chosen
      .filter((sentence) => sentence.source === source)
      .toSorted((a, b) => a.at - b.at)
      .map(({ text }) => shortened(text));
    return texts.length === 0 ? [] : [{ title: some[0]?.title ?? '', texts }];
  });
};

const SENTENCE_END = /(?<=[.!?…][)"'”’»]?)\s+|\n+/u;

const sentencesOf = (passages: readonly Passage[], source: number): readonly Sentence[] => {
  const titled = new Set(termsOf(passages[0]?.title ?? ''));
  return passages
    .toSorted((a, b) => a.no - b.no)
    .flatMap(({ texts, cosines }) => texts.map((text, nth) => ({ text, cosine: cosines[nth] ?? 0 })))
    .flatMap(({ text, cosine }) => text.split(SENTENCE_END).map((one) => ({ text: one, cosine })))
    .map(({ text, cosine }) => ({ text: text.replace(/\s+/g, ' ').trim(), cosine }))
    .filter(({ text }, at, all) => text !== '' && all.findIndex((other) => other.text === text) === at)
    .map((sentence, at) => ({ ...sentence, source, at, titled, terms: new Set(termsOf(sentence.text)) }));
};

/**
 * Scores sentences by four measures: the cosine of their chunk; the question's words in the sentence or title (rare
 * words count more); whether the sentence has the kind of fact asked for, such as a time or a person; and how many
 * words the sentence has that are in neither question nor title.
 */
const scoresOf = (
  message: string,
  history: readonly Turn[],
  sentences: readonly Sentence[],
): ReadonlyMap<Sentence, number> => {
  const { terms } = searchTextsOf(message, history);
  const has = ({ terms: own, titled }: Sentence, term: string): boolean => own.has(term) || titled.has(term);
  const worths = terms.map(({ term, weight }) => {
    const holders = sentences.filter((sentence) => has(sentence, term)).length;
    return { term, worth: holders === 0 ? 0 : weight * Math.log(1 + sentences.length / holders) };
  });
  const whole = worths.reduce((sum, { worth }) => sum + worth, 0);
  const said = new Set(terms.map(({ term }) => term));
  const isAsked = askedFor(message);
  return new Map(
    sentences.map((sentence) => {
      const had = worths.reduce((sum, { term, worth }) => sum + (has(sentence, term) ? worth : 0), 0);
      const coverage = whole === 0 ? 0 : had / whole;
      const kind = isAsked?.test(sentence.text) === true ? KIND_WEIGHT : 0;
      const fresh = [...sentence.terms].filter((term) => !said.has(term) && !sentence.titled.has(term));
      const news = (NEWS_WEIGHT * Math.min(fresh.length, NEWS)) / NEWS;
      return [sentence, sentence.cosine + COVERAGE_WEIGHT * coverage + kind + news];
    }),
  );
};

const COUNT =
  /\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty|hundred|thousand|dozen|half|quarter|once|twice|daily|weekly|monthly|quarterly|yearly|every|each|none|no)\b/iu;
const TIME =
  /\d|\b(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec|mon|tues|wednes|thurs|fri|satur|sun|spring|summer|autumn|winter|morning|noon|afternoon|evening|night|midnight|weeks?|months?|years?|days?|hours?|today|tomorrow|quarter|before|after|until|since|easter|christmas)/iu;
const PERSON = /(?<=\S\s)\p{Lu}\p{L}+|\b(?:driver|manager|owner|team|office|staff|person)\b/u;
const REASON =
  /\b(?:because|cause[ds]?|due|since|reason|so that|therefore|otherwise|to avoid|fault|problem)\b/iu;

/** The pattern that answers usually match, by the form of the question (`when`, `who`); undefined for other forms. */
const askedFor = (message: string): RegExp | undefined => {
  if (
    /\bhow (?:many|much|often|long|old|far|high|large|big|wide|deep|heavy|fast|hot|warm|loud)\b/iu.test(
      message,
    )
  )
    return COUNT;
  if (/\b(?:when|what time|which (?:day|month|year)|what day|how soon)\b/iu.test(message)) return TIME;
  if (/\b(?:who|whom|whose)\b/iu.test(message)) return PERSON;
  if (/\bwhy\b/iu.test(message)) return REASON;
  return undefined;
};

const shortened = (text: string): string => {
  const beginning = truncate(text, QUOTE_CHARACTERS);
  return beginning === text ? text : `${beginning.trimEnd()}…`;
};
