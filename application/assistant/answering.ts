import { nameOfSource } from '../ports/corpus-store.ts';
import { CERTAIN } from './confidence.ts';
import type { Turn } from './question.ts';
import { type Quote, quotesOf } from './quoting.ts';
import type { Passage } from './tenant-indexes.ts';

/**
 * Makes a reply from one or more passages.
 * @throws {DomainError} `unavailable`, `assistant_upstream_unexpected`
 */
export type Answerer = (
  message: string,
  history: readonly Turn[],
  passages: readonly Passage[],
) => Promise<string>;

export const NOTHING_FOUND =
  'I found nothing in your records or attachments that answers this, so I would rather not guess.';

export const NOTHING_CERTAIN =
  'I found no certain answer to this in your records and attachments, so I would rather not guess. The closest are:';

const FOUND = 'This is what your records say:';

/** Most sources named when no passage is certain enough to be quoted. */
const POINTERS = 3;

/**
 * Answers without a language model by quoting the best sentences of the passages under the titles of their sources.
 * When no passage is certain enough, the reply says so and only names the closest sources.
 */
export const extractiveAnswerer: Answerer = async (message, history, passages) =>
  isCertain(passages) ? quoting(quotesOf(message, history, passages)) : pointing(passages);

/** Whether the best passage is confident enough to be quoted as the answer. */
export const isCertain = (passages: readonly Passage[]): boolean => (passages[0]?.confidence ?? 0) >= CERTAIN;

const quoting = (quotes: readonly Quote[]): string => {
  const lines = quotes.map(
    ({ title, texts }) => `• ${title} — ${texts.map((text) => `“${text}”`).join(' … ')}`,
  );
  return `${FOUND}\n\n${lines.join('\n')}`;
};

const pointing = (passages: readonly Passage[]): string => {
  const sources = new Map(passages.map((passage) => [nameOfSource(passage), `• ${passage.title}`]));
  return `${NOTHING_CERTAIN}\n\n${[...sources.values()].slice(0, POINTERS).join('\n')}`;
};
