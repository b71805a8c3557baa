import { createHash } from 'node:crypto';

/**
 * Cuts texts into passages that are found and quoted one by one. A change of what comes out here, or of what is
 * embedded, needs a new version: every chunk is then embedded anew by the next backfill.
 */
export const CHUNKER_VERSION = 2;

export interface ChunkSizes {
  /** UTF-16 units up to which a chunk takes sentences and lines; of a long text more, so that all of it is found. */
  readonly target: number;
  /** UTF-16 units of a chunk, at most: a sentence or line that is longer is cut. */
  readonly size: number;
  /** Chunks of one source, at most: what comes after them is not found. */
  readonly limit: number;
}

/**
 * Small, because a sentence's embedding says more than a page's: by embeddings alone the right source of the bench's labelled
 * set is among the first five for 68 of 100 questions with one chunk for each source, for 74 with chunks of about 150
 * characters (a quarter more of them), for 76 with single sentences and lines (twice as many).
 */
export const CHUNK_SIZES: ChunkSizes = { target: 150, size: 500, limit: 4000 };

/** UTF-16 units of a source that are found in any case. */
export const FOUND_CHARACTERS = (CHUNK_SIZES.limit * CHUNK_SIZES.size) / 2;

/** UTF-16 units of the chunks of a source that are shown together, about. */
export const SECTION = 1000;

export interface Chunk {
  readonly text: string;
  readonly hash: string;
}

/** NFC, `\n` alone ends lines, nothing that cannot be shown, no space at line ends, no more than one empty line. */
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

/** What the embedder is given for a chunk. */
export const embeddedText = (title: string, text: string): string => `${title}\n${text}`;

export const contentHash = (title: string, text: string): string =>
  createHash('sha256').update(`${CHUNKER_VERSION}\n${title}\n${text}`).digest('hex');

/** Work that pauses: each number is how many UTF-16 units it went through since the last pause, about. */
type Stepwise<T> = Generator<number, T, undefined>;

/** Chunks of a source; none of one without text. */
export const chunksOf = (title: string, text: string, sizes: ChunkSizes = CHUNK_SIZES): readonly Chunk[] => {
  const work = chunking(title, text, sizes);
  for (let step = work.next(); ; step = work.next()) if (step.done === true) return step.value;
};

/** UTF-16 units that are cut without a pause: some milliseconds. */
const WITHOUT_PAUSE = 50_000;

/** {@link chunksOf} for the thread that serves requests: a large text would hold them up for tenths of a second. */
export const chunksInTurns = async (
  title: string,
  text: string,
  breathe: () => Promise<unknown>,
): Promise<readonly Chunk[]> => {
  const work = chunking(title, text, CHUNK_SIZES);
  let done = 0;
  for (let step = work.next(); ; step = work.next()) {
    if (step.done === true) return step.value;
    done += step.value;
    if (done < WITHOUT_PAUSE) continue;
    done = 0;
    await breathe();
  }
};

const chunking = function* (title: string, text: string, sizes: ChunkSizes): Stepwise<readonly Chunk[]> {
  const plain = normalised(text);
  yield text.length;
  const chunks: Chunk[] = [];
  for (const piece of yield* pieces(plain, sizes)) {
    chunks.push({ text: piece, hash: contentHash(title, piece) });
    yield piece.length;
  }
  return chunks;
};

/** A line, a sentence, or a part of one that is too long. */
interface Atom {
  readonly text: string;
  /** What stands between it and the one before. */
  readonly before: '\n\n' | '\n' | ' ' | '';
}

const pieces = function* (text: string, sizes: ChunkSizes): Stepwise<readonly string[]> {
  const { size, limit } = sizes;
  // Chunks are half full at least, two by two.
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
    const atoms = yield* atomsOf(paragraph, size);
    const whole = atoms.reduce((sum, atom) => sum + atom.before.length + atom.text.length, 0);
    // A paragraph stays whole where it can.
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

const atomsOf = function* (paragraph: string, size: number): Stepwise<readonly Atom[]> {
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
    yield line.length + 1;
  }
  return atoms;
};

/** Cut at a space where there is one, and never within a code point. */
const parts = function* (text: string, size: number): Iterable<{ text: string; isFirst: boolean }> {
  const room = size - 2;
  let from = 0;
  while (text.length - from > room) {
    let to = from + room;
    const space = text.slice(from, to + 1).lastIndexOf(' ');
    if (space > room / 2) to = from + space + 1;
    else if (isLowSurrogate(text.charCodeAt(to))) to -= 1;
    yield { text: text.slice(from, to), isFirst: from === 0 };
    from = to;
  }
  yield { text: text.slice(from), isFirst: from === 0 };
};

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;

/** Chunks that follow each other, in sections: what is read together. Each has at least one, and about {@link SECTION}. */
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
