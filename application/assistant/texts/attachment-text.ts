import type { Readable } from 'node:stream';
import { FOUND_CHARACTERS } from '../chunker.ts';
import { csvText } from './csv.ts';
import { decodedText } from './decode.ts';
import type { TitledText } from './record-text.ts';

interface AttachmentFacts {
  readonly filename: string;
  /** `type/subtype`, as sent by the client. */
  readonly content_type: string;
}

const TEXT_TYPES = ['text/plain', 'text/markdown', 'text/x-markdown'];
const CSV_TYPES = ['text/csv', 'application/csv'];
const TEXT_EXTENSIONS = ['txt', 'text', 'md', 'markdown'];

/** Text, CSV or neither: by content type, or by file name when the type is unknown. */
export const textKindOf = ({ filename, content_type }: AttachmentFacts): 'text' | 'csv' | undefined => {
  const extension = /\.([a-z]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
  const type = content_type.split(';')[0]?.trim().toLowerCase() ?? '';
  const byName = extension === 'csv' ? 'csv' : TEXT_EXTENSIONS.includes(extension) ? 'text' : undefined;
  const byType = CSV_TYPES.includes(type) ? 'csv' : TEXT_TYPES.includes(type) ? 'text' : undefined;
  // Browsers may send a CSV file with a plain text type.
  return byName === 'csv' && byType === 'text' ? 'csv' : (byType ?? byName);
};

/** Whether an attachment is text, CSV or Markdown. */
export const isTextFile = (facts: AttachmentFacts): boolean => textKindOf(facts) !== undefined;

/** The text of an attachment; empty when the bytes are not text. The stream is destroyed afterwards. */
export const attachmentText = async (facts: AttachmentFacts, bytes: Readable): Promise<TitledText> => {
  const text = (await decodedText(bytes, FOUND_CHARACTERS)) ?? '';
  return {
    title: facts.filename,
    text: textKindOf(facts) === 'csv' ? csvText(text, FOUND_CHARACTERS) : text,
  };
};
