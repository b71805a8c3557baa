import { CERTAIN } from './confidence.ts';
import type { Turn } from './question.ts';
import { type Quote, quotesOf } from './quoting.ts';
import type { Passage } from './tenant-indexes.ts';

/** Makes a reply of what was found; there is at least one passage. */
export interface Answerer {
  /** @throws {DomainError} `unavailable`, `assistant_upstream_unexpected` */
  answer(message: string, history: readonly Turn[], passages: readonly Passage[]): Promise<string>;
}

export const NOTHING_FOUND =
  'I found nothing in your records or attachments that answers this, so I would rather not guess.';

export const NOTHING_CERTAIN =
  'I found no certain answer to this in your records and attachments, so I would rather not guess. The closest are:';

const FOUND = 'This is what your records say:';

/** Sources that are named where none of them answers for certain. */
const POINTERS = 3;

/**
 * Answers without a language model, by quoting: the sentences that fit the question best, word for word, under the titles of
 * their sources; nothing in them is followed. Where it is not likely enough that they answer, it says so and only names
 * the sources that come closest.
 */
export const extractiveAnswerer: Answerer = {
  answer: async (message, history, passages) =>
    isCertain(passages) ? quoting(quotesOf(message, history, passages)) : pointing(passages),
};

/** Whether the best passage answers the question, as far as can be told without understanding it. */
export const isCertain = (passages: readonly Passage[]): boolean => (passages[0]?.confidence ?? 0) >= CERTAIN;

const quoting = (quotes: readonly Quote[]): string => {
  const lines = quotes.map(
    ({ title, texts }) => `• ${title} — ${texts.map((text) => `“${text}”`).join(' … ')}`,
  );
  return `${FOUND}\n\n${lines.join('\n')}`;
};

const pointing = (passages: readonly Passage[]): string => {
  const titles = [...new Map(passages.map(({ kind, id, title }) => [`${kind}/${id}`, title])).values()];
  return `${NOTHING_CERTAIN}\n\n${titles
    .slice(0, POINTERS)
    .map((title) => `• ${title}`)
    .join('\n')}`;
};
