import { createHash } from 'node:crypto';

/**
 * Version of the chunker and of {@link embeddedText}. A change of their output needs a new version; the next backfill
 * then embeds all chunks again.
 */
export const CHUNKER_VERSION = 2;

export interface ChunkSizes {
  /**
   * Length (UTF-16 units) up to which a chunk collects sentences and lines. A greater length is used for a long text
   * that would otherwise have more than `limit` chunks.
   */
  readonly target: number;
  /** Most UTF-16 units of a chunk; longer sentences and lines are cut. */
  readonly size: number;
  /** Most chunks of a source; the rest of its text is not searchable. */
  readonly limit: number;
}

/** Small, since the embedding of a sentence is more specific than the embedding of a page (docs/benchmarks.md). */
const CHUNK_SIZES: ChunkSizes = { target: 150, size: 500, limit: 4000 };

/** UTF-16 units of a source, from its start, that are always searchable. */
export const FOUND_CHARACTERS = (CHUNK_SIZES.limit * CHUNK_SIZES.size) / 2;

/** Approximate UTF-16 units of a section: chunks that are shown together. */
export const SECTION = 1000;

export interface Chunk {
  readonly text: string;
  readonly hash: string;
}

/**
 * Normalises a text: NFC, line feeds as line ends, no trailing spaces, at most one empty line in a row. Replaces other
 * characters of Unicode category C (such as control characters) except tabs, and U+FFFD, by spaces.
 */
export const normalised = (text: string): string =>
  text
    .toWellFormed()
    .normalize('NFC')
    .replace(/\r\n?|\u2028|\u2029/g, '\n')
    .replace(/[^\P{C}\n\t]|\ufffd/gu, ' ')
    .split('\n')
    .map((line) => line.trimEnd())
    .join('\n')
    .replace(/\n{3,}/g, '\n\n')
    .trim();

/** The text that is embedded for a chunk. */
export const embeddedText = (title: string, text: string): string => `${title}\n${text}`;

export const contentHash = (title: string, text: string): string =>
  createHash('sha256').update(`${CHUNKER_VERSION}\n${title}\n${text}`).digest('hex');

/** Chunks of a source; none for an empty text. */
export const chunksOf = (title: string, text: string, sizes: ChunkSizes = CHUNK_SIZES): readonly Chunk[] =>
  pieces(normalised(text), sizes).map((piece) => ({ text: piece, hash: contentHash(title, piece) }));

/** A line, a sentence, or a part of a too long line or sentence. */
interface Atom {
  readonly text: string;
  /** The separator before the text. */
  readonly before: '\n\n' | '\n' | ' ' | '';
}

const pieces = (text: string, sizes: ChunkSizes): readonly string[] => {
  const { size, limit } = sizes;
  // Each chunk is at least half full, or exceeds the target together with the next chunk. So `limit` chunks hold at
  // least half of `limit * target`.
  const target = Math.min(size, Math.max(sizes.target, Math.ceil((2 * text.length) / limit)));
  const found: string[] = [];
  let current: Atom[] = [];
  let length = 0;
  const close = (): void => {
    if (current.length > 0) found.push(joined(current));
    current = [];
    length = 0;
  };
  for (const paragraph of text.split('\n\n')) {
    const atoms = atomsOf(paragraph, size);
    const whole = atoms.reduce((sum, atom) => sum + atom.before.length + atom.text.length, 0);
    // Keeps a paragraph in one chunk if it fits.
    if (length + whole > target && length >= target / 2) close();
    for (const atom of atoms) {
      const more = atom.before.length + atom.text.length;
      if (length + more > target) close();
      current.push(atom);
      length += more;
      if (found.length >= limit) return found.slice(0, limit);
    }
  }
  close();
  return found.slice(0, limit);
};

const joined = (atoms: readonly Atom[]): string =>
  atoms
    .map(({ before, text }, index) => (index === 0 ? text : before + text))
    .join('')
    .trim();

const SENTENCE_END = /(?<=[.!?…][)"'”’»]?)[^\S\n]+|(?<=[。！？])/u;

const atomsOf = (paragraph: string, size: number): readonly Atom[] => {
  const atoms: Atom[] = [];
  const add = (text: string, before: Atom['before']): void => {
    if (text === '') return;
    atoms.push({ text, before: atoms.length === 0 ? '\n\n' : before });
  };
  for (const line of paragraph.split('\n')) {
    let before: Atom['before'] = '\n';
    for (const sentence of line.split(SENTENCE_END)) {
      for (const part of parts(sentence, size)) {
        add(part.text, part.isFirst ? before : '');
        before = ' ';
      }
    }
  }
  return atoms;
};

/** Cuts at the last space in the second half of each part if there is one, and never within a code point. */
const parts = function* (text: string, size: number): Iterable<{ text: string; isFirst: boolean }> {
  const limit = size - 2;
  let from = 0;
  while (text.length - from > limit) {
    let to = from + limit;
    const space = text.slice(from, to + 1).lastIndexOf(' ');
    if (space > limit / 2) to = from + space + 1;
    else if (isLowSurrogate(text.charCodeAt(to))) to -= 1;
    yield { text: text.slice(from, to), isFirst: from === 0 };
    from = to;
  }
  yield { text: text.slice(from), isFirst: from === 0 };
};

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** Groups successive chunks into sections of about {@link SECTION}, at least one chunk each. */
export const sectionsOf = (
  texts: readonly string[],
): readonly { readonly from: number; readonly to: number }[] => {
  const sections: { from: number; to: number }[] = [];
  let length = 0;
  for (const [no, text] of texts.entries()) {
    const last = sections.at(-1);
    if (last === undefined || length + text.length > SECTION) {
      sections.push({ from: no, to: no + 1 });
      length = 0;
    } else last.to = no + 1;
    length += text.length;
  }
  return sections;
};
