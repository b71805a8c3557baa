import { createHash } from 'node:crypto';
import type { SourceDocument } from '../../../application/assistant/corpus.ts';
import { termsOf } from '../../../application/assistant/keywords.ts';
import { type Embedder, EmbedderUnavailable } from '../../../application/ports/embedder.ts';

export interface TestEmbedder extends Embedder {
  /** Every embedded text, in order. */
  readonly embedded: string[];
  available: boolean;
}

/** Embeds by words: texts that share words have similar vectors. */
export const testEmbedder = (model = 'words/1'): TestEmbedder => {
  const embedded: string[] = [];
  const vectorOf = (text: string): Float32Array => {
    const vector = new Float32Array(64);
    vector[0] = 0.01;
    for (const term of termsOf(text)) {
      const place = createHash('sha256').update(term).digest().readUInt16BE(0) % 64;
      vector[place] = (vector[place] ?? 0) + 1;
    }
    const length = Math.hypot(...vector);
    return vector.map((value) => value / length);
  };
  const embedder: TestEmbedder = {
    model,
    dimensions: 64,
    embedded,
    available: true,
    embed: async (texts) => {
      if (!embedder.available) throw new EmbedderUnavailable('off');
      embedded.push(...texts);
      return texts.map(vectorOf);
    },
    close: async () => undefined,
  };
  return embedder;
};

export const document = (id: string, text: string, more: Partial<SourceDocument> = {}): SourceDocument => ({
  kind: 'entity_record',
  id,
  parent: null,
  revision: '1',
  title: `Order ${id}`,
  text,
  ...more,
});
