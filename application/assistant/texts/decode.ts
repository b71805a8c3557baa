import type { Readable } from 'node:stream';
import { streamSafe } from './stream-safe.ts';

/** Bytes with a greater share of invalid characters do not count as text. */
const BROKEN_SHARE = 0.05;
/** Control characters that text files do not contain. */
const BINARY = /(?![\t\n\v\f\r\u0080-\u009f])\p{Cc}/u;
const BROKEN = /\ufffd/g;

/**
 * Decodes at most `maxCharacters` of a stream (decisions, section 7: text, CSV and Markdown): as UTF-16 if the stream
 * begins with its byte order mark, otherwise as UTF-8. Drops invalid characters. Undefined when the bytes are not text.
 */
export const decodedText = async (stream: Readable, maxCharacters: number): Promise<string | undefined> => {
  let decoder: InstanceType<typeof TextDecoder> | undefined;
  let text = '';
  let head = Buffer.alloc(0);
  try {
    for await (const piece of stream) {
      let bytes: Buffer = Buffer.isBuffer(piece) ? piece : Buffer.from(piece);
      if (decoder === undefined) {
        // The byte order mark may be split over several small pieces of the stream.
        head = Buffer.concat([head, bytes]);
        if (head.length < 4) continue;
        bytes = head;
        decoder = new TextDecoder(encodingOf(head));
      }
      text += decoder.decode(bytes, { stream: true });
      if (BINARY.test(text.slice(-bytes.length))) return undefined;
      if (text.length >= maxCharacters) break;
    }
    if (decoder === undefined) text = new TextDecoder(encodingOf(head)).decode(head);
    else if (text.length < maxCharacters) text += decoder.decode();
  } finally {
    stream.destroy();
  }
  const kept = text.slice(0, maxCharacters);
  if (BINARY.test(kept)) return undefined;
  const broken = kept.match(BROKEN)?.length ?? 0;
  if (broken > kept.length * BROKEN_SHARE) return undefined;
  return streamSafe(kept.replace(BROKEN, '').toWellFormed());
};

const encodingOf = (head: Buffer): 'utf-8' | 'utf-16le' | 'utf-16be' => {
  const [first, second] = head;
  if (first === 0xff && second === 0xfe) return 'utf-16le';
  if (first === 0xfe && second === 0xff) return 'utf-16be';
  return 'utf-8';
};
