import { termsOf, type WeightedTerm } from './keywords.ts';

/** One message of the talk so far, as the client keeps it. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** What is searched for. */
export interface SearchTexts {
  /** Is embedded. */
  readonly text: string;
  readonly terms: readonly WeightedTerm[];
}

/** Longer questions speak for themselves. */
const SHORT_WORDS = 4;
const CARRIED_CHARACTERS = 500;
const CARRIED_WEIGHT = 0.5;

/** “And in 2025?”, “what about Lyon”, “how much is it”: what they speak of was said before. */
const GOES_ON = /^\s*(?:and|but|or|also|then|so|what about|how about|what else|why|since when)\b/iu;
const POINTS_BACK =
  /\b(?:it|its|they|them|their|that one|this one|those|these|he|him|his|she|her|there|same)\b/iu;

/** A question that goes on from earlier ones is searched for together with the last that stood by itself. */
export const searchTextsOf = (message: string, history: readonly Turn[] = []): SearchTexts => {
  const own = [...new Set(termsOf(message))];
  const asked = history.filter(({ role }) => role === 'user').map(({ content }) => content);
  const carried = dependsOnEarlier(message, own)
    ? asked.findLast((earlier) => !dependsOnEarlier(earlier, [...new Set(termsOf(earlier))]))
    : undefined;
  const terms = own.map((term) => ({ term, weight: 1 }));
  if (carried === undefined) return { text: message, terms };
  const context = carried.slice(0, CARRIED_CHARACTERS).toWellFormed();
  const more = new Set(termsOf(context).filter((term) => !own.includes(term)));
  return {
    text: `${context} ${message}`,
    terms: [...terms, ...[...more].map((term) => ({ term, weight: CARRIED_WEIGHT }))],
  };
};

const dependsOnEarlier = (message: string, terms: readonly string[]): boolean =>
  terms.length <= 1 || (terms.length <= SHORT_WORDS && (GOES_ON.test(message) || POINTS_BACK.test(message)));
