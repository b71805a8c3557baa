/** Common words, which are not searched for. */
const COMMON = new Set(
  (
    'a about after all also am an and any anybody anyone anything are as at be because been before being but by ' +
    'can could d did do does doing everybody for from had has have having he her here him his how i if in into ' +
    'is it its just let ll long m many may me might more most much must my no nobody not of often on or our out ' +
    'over per please re s shall she should so some somebody someone something such t tell than that the their ' +
    'them then there these they this those through to too under up us ve very was we were what when where which ' +
    'while who whom whose why will with would you your'
  ).split(' '),
);

const WORD = /[\p{L}\p{N}]+/gu;
const PLAIN = /^[\0-\x7f]*$/;
const PLAIN_WORD = /[a-z0-9]+/g;
const WITHOUT_SPACES = /^[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}\p{sc=Thai}]+$/u;

/**
 * Words of a text in the form in which they are compared: without case, accents and English endings. Common words are
 * left out.
 */
export const termsOf = (text: string): string[] => {
  const found: string[] = [];
  // Pure ASCII needs no normalisation.
  const isPlain = PLAIN.test(text);
  const plain = (isPlain ? text : text.normalize('NFKD').replace(/\p{M}+/gu, '')).toLowerCase();
  for (const word of plain.match(isPlain ? PLAIN_WORD : WORD) ?? []) {
    const root = rootOf(word);
    if (root === undefined) continue;
    if (!isPlain && WITHOUT_SPACES.test(word)) found.push(...pairsIn(word));
    else found.push(root);
  }
  return found;
};

/** Longer words are not cached: in V8 such a substring would keep its whole text in memory. */
const REMEMBERED_LENGTH = 12;
const MAX_REMEMBERED = 50_000;
const remembered = new Map<string, string>();

/** The stem of a word; undefined for a common one. Cached. */
const rootOf = (word: string): string | undefined => {
  if (word.length > REMEMBERED_LENGTH) return stem(word.length > 64 ? word.slice(0, 64) : word);
  const known = remembered.get(word);
  if (known !== undefined) return known;
  if (COMMON.has(word)) return undefined;
  const root = stem(word);
  if (remembered.size >= MAX_REMEMBERED) remembered.clear();
  remembered.set(word, root);
  return root;
};

/** Splits a word of a script without spaces into overlapping pairs of characters. */
const pairsIn = (word: string): string[] => {
  const characters = [...word];
  if (characters.length < 3) return [word];
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
};

const VOWEL = /[aeiouy]/;

/**
 * A light stemmer: removes plurals, `-ing`, `-ed`, and noun and adverb endings of longer words. Merging different words
 * does less harm than keeping forms of one word apart (bench/assistant).
 */
const stem = (word: string): string => {
  if (word.length < 3 || /[^a-z]/.test(word)) return word;
  let root = word;
  if (root.length === 3) return root.replace(/e$/, '').replace(/y$/, 'i');
  if (root.endsWith('ies')) root = `${root.slice(0, -3)}y`;
  else if (/(?:ss|sh|ch|x|z)es$/.test(root)) root = root.slice(0, -2);
  else if (root.endsWith('s') && !/(?:ss|us|is)$/.test(root)) root = root.slice(0, -1);
  if (root.length > 5) {
    const left = root.replace(/(?:ing|ed)(?:ly)?$/, '');
    if (left.length >= 3 && VOWEL.test(left)) root = left;
  }
  if (root.length > 6) root = root.replace(/(?:ment|ation|ness|ly|er|ion)$/, '');
  return root
    .replace(/([b-df-hj-np-tv-z])\1$/, '$1')
    .replace(/e$/, '')
    .replace(/y$/, 'i');
};

/** A term of a question with its weight, 0..1. */
export interface WeightedTerm {
  readonly term: string;
  readonly weight: number;
}

/** Keyword scores of all rows, by row number. */
interface KeywordScores {
  readonly bm25: Float32Array;
  /** Share of the question's words in the row, weighted by rarity: 0..1. */
  readonly coverage: Float32Array;
}

/** Most words of a question; the words with the greatest product of rarity and weight are kept. */
const MAX_TERMS = 64;
/** Parameters of BM25. */
const K1 = 1.2;
const B = 0.5;
/** A smaller corpus counts as this many rows, since in a corpus of three rows every word would be common. */
const LEAST_ROWS = 100;
/** Two words are related when the shorter one has at least this many characters and is the start of the longer one. */
const BEGINNING = 5;
/** An occurrence of a related word counts as this many occurrences of the word itself. */
const RELATED_WEIGHT = 0.6;

/** A posting is one number that combines row and count, to keep the lists small. The count has this many bits. */
const COUNT_BITS = 6;
const MAX_COUNT = 2 ** COUNT_BITS - 1;
/** Approximate bytes of a word without its postings, and of one posting. */
const WORD_BYTES = 150;
const POSTING_BYTES = 12;

/**
 * An inverted index: the rows of each word. Rows are numbered from 0 in the order of {@link add} and are never removed;
 * the owner ignores outdated rows and sometimes makes a new index.
 */
export class KeywordIndex {
  readonly #postings = new Map<string, number[]>();
  readonly #lengths: number[] = [];
  /** Words by their first `BEGINNING` characters. */
  readonly #kin = new Map<string, string[]>();
  #total = 0;
  #posted = 0;

  /** Approximate memory in bytes. */
  get bytes(): number {
    return this.#postings.size * WORD_BYTES + this.#posted * POSTING_BYTES;
  }

  /** Adds the next row. */
  add(terms: readonly string[]): void {
    const row = this.#lengths.push(terms.length) - 1;
    this.#total += terms.length;
    const counts = new Map<string, number>();
    for (const term of terms) counts.set(term, (counts.get(term) ?? 0) + 1);
    this.#posted += counts.size;
    for (const [term, count] of counts)
      this.#rowsOf(term).push(row * 2 ** COUNT_BITS + Math.min(count, MAX_COUNT));
  }

  #rowsOf(term: string): number[] {
    const known = this.#postings.get(term);
    if (known !== undefined) return known;
    const rows: number[] = [];
    this.#postings.set(term, rows);
    const beginning = beginningOf(term);
    if (beginning !== undefined) {
      const kin = this.#kin.get(beginning);
      if (kin === undefined) this.#kin.set(beginning, [term]);
      else kin.push(term);
    }
    return rows;
  }

  /** The rarity of a word; highest for an unknown word. */
  rarity(term: string): number {
    const holders = this.#postings.get(term)?.length ?? 0;
    const rows = Math.max(this.#lengths.length, LEAST_ROWS);
    return Math.log(1 + (rows - holders + 0.5) / (holders + 0.5));
  }

  search(terms: readonly WeightedTerm[]): KeywordScores {
    const rows = this.#lengths.length;
    const bm25 = new Float32Array(rows);
    const coverage = new Float32Array(rows);
    const meanLength = rows === 0 ? 1 : Math.max(1, this.#total / rows);
    const worths = terms
      .map(({ term, weight }) => ({ term, worth: this.rarity(term) * weight }))
      .toSorted((a, b) => b.worth - a.worth)
      .slice(0, MAX_TERMS);
    const attainable = worths.reduce((sum, { worth }) => sum + worth, 0);
    for (const { term, worth } of worths) {
      /** Each row's best score for the word and its related words. */
      const gained = new Map<number, number>();
      for (const form of this.#formsOf(term)) {
        const share = form === term ? 1 : RELATED_WEIGHT;
        for (const entry of this.#postings.get(form) ?? []) {
          const row = Math.floor(entry / 2 ** COUNT_BITS);
          const count = (entry % 2 ** COUNT_BITS) * share;
          const norm = K1 * (1 - B + (B * (this.#lengths[row] ?? 0)) / meanLength);
          const gain = (worth * count * (K1 + 1)) / (count + norm);
          if (gain > (gained.get(row) ?? 0)) gained.set(row, gain);
        }
      }
      for (const [row, gain] of gained) {
        bm25[row] = (bm25[row] ?? 0) + gain;
        coverage[row] = (coverage[row] ?? 0) + worth / attainable;
      }
    }
    return { bm25, coverage };
  }

  /** The word and related words. */
  #formsOf(term: string): readonly string[] {
    const kin = this.#kin.get(beginningOf(term) ?? '') ?? [];
    return [term, ...kin.filter((one) => one !== term && (one.startsWith(term) || term.startsWith(one)))];
  }
}

/** The first `BEGINNING` characters; undefined for words without related words: short words and words with digits. */
const beginningOf = (term: string): string | undefined => {
  const beginning = term.slice(0, BEGINNING);
  return beginning.length < BEGINNING || /\d/.test(term) ? undefined : beginning;
};
