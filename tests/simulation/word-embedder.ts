import type { Embedder } from '../../application/ports/embedder.ts';

const DIMENSIONS = 16;

const placeOf = (word: string): number =>
  [...word].reduce((sum, letter) => (sum * 31 + (letter.codePointAt(0) ?? 0)) % 8_191, 7) % DIMENSIONS;

const vectorOf = (text: string): Float32Array => {
  const vector = new Float32Array(DIMENSIONS);
  for (const word of text.toLowerCase().split(/\W+/)) vector[placeOf(word)] = 1;
  const length = Math.hypot(...vector);
  return vector.map((value) => value / length);
};

/** Texts with the same words are close; the cost of the product's model is not simulated. */
export const wordEmbedder: Embedder = {
  model: 'words',
  dimensions: DIMENSIONS,
  embed: async (texts) => texts.map(vectorOf),
  close: async () => undefined,
};
