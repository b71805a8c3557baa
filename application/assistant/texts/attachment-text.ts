import type { Readable } from 'node:stream';
import { FOUND_CHARACTERS } from '../chunker.ts';
import { csvText } from './csv.ts';
import { decodedText } from './decode.ts';
import type { TitledText } from './record-text.ts';

export interface AttachmentFacts {
  readonly filename: string;
  /** `type/subtype`, as sent by the client. */
  readonly content_type: string;
}

const TYPES: ReadonlyMap<string, 'text' | 'csv'> = new Map([
  ['text/plain', 'text'],
  ['text/markdown', 'text'],
  ['text/x-markdown', 'text'],
  ['text/csv', 'csv'],
  ['application/csv', 'csv'],
]);
const EXTENSIONS: ReadonlyMap<string, 'text' | 'csv'> = new Map([
  ['txt', 'text'],
  ['text', 'text'],
  ['md', 'text'],
  ['markdown', 'text'],
  ['csv', 'csv'],
]);

/** Text, CSV or neither: by content type, or by file name when the type is unknown. */
export const textKindOf = ({ filename, content_type }: AttachmentFacts): 'text' | 'csv' | undefined => {
  const extension = /\.([a-z]+)$/i.exec(filename)?.[1]?.toLowerCase() ?? '';
  const byName = EXTENSIONS.get(extension);
  const byType = TYPES.get(content_type.split(';')[0]?.trim().toLowerCase() ?? '');
  // Spreadsheets and browsers send CSV with various types.
  return byName === 'csv' && byType === 'text' ? 'csv' : (byType ?? byName);
};

/** The text of an attachment; empty when the bytes are not text. Reads or destroys the stream. */
export const attachmentText = async (facts: AttachmentFacts, bytes: Readable): Promise<TitledText> => {
  const text = (await decodedText(bytes, FOUND_CHARACTERS)) ?? '';
  return {
    title: facts.filename,
    text: textKindOf(facts) === 'csv' ? csvText(text, FOUND_CHARACTERS) : text,
  };
};
