import { termsOf, type WeightedTerm } from './keywords.ts';

/** A message of the conversation, as the client keeps it. */
export interface Turn {
  readonly role: 'user' | 'assistant';
  readonly content: string;
}

/** A question with more terms than this is searched without earlier questions. */
const SHORT_WORDS = 4;
const CARRIED_CHARACTERS = 500;
const CARRIED_WEIGHT = 0.5;

/** "And in 2025?", "what about Lyon", "how much is it": questions that refer to earlier ones. */
const CONTINUES = /^\s*(?:and|but|or|also|then|so|what about|how about|what else|why|since when)\b/iu;
const POINTS_BACK =
  /\b(?:it|its|they|them|their|that one|this one|those|these|he|him|his|she|her|there|same)\b/iu;

/**
 * The text to embed and the terms to search for. If a question refers to earlier questions, adds the last earlier
 * question that can be understood alone.
 */
export const searchTextsOf = (
  message: string,
  history: readonly Turn[] = [],
): { readonly text: string; readonly terms: readonly WeightedTerm[] } => {
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
  terms.length <= 1 ||
  (terms.length <= SHORT_WORDS && (CONTINUES.test(message) || POINTS_BACK.test(message)));
