import { type ChunkSizes, chunksOf, embeddedText } from '../../application/assistant/chunker.ts';
import { searchTextsOf, type Turn } from '../../application/assistant/question.ts';
import { RANKING, type RankingRules } from '../../application/assistant/ranking.ts';
import { SearchIndex } from '../../application/assistant/search-index.ts';
import type { Passage } from '../../application/assistant/tenant-indexes.ts';
import type { SourceKind } from '../../application/ports/corpus-store.ts';
import type { Embedder } from '../../application/ports/embedder.ts';

/** A text with its source, as `application/assistant/texts` returns it. */
export interface OfflineDocument {
  readonly kind: SourceKind;
  readonly id: string;
  readonly title: string;
  readonly text: string;
}

/** Search over fixed sources with the product's chunker, index and ranking, for benchmarks. */
export interface OfflineIndex {
  readonly chunks: number;
  retrieve(message: string, history?: readonly Turn[], rules?: RankingRules): Promise<readonly Passage[]>;
}

const GROUP = 64;

export const offlineIndex = async (
  embedder: Embedder,
  documents: readonly OfflineDocument[],
  sizes?: ChunkSizes,
): Promise<OfflineIndex> => {
  const index = new SearchIndex(embedder.dimensions);
  const textsOf = new Map<string, readonly string[]>();
  const titleOf = new Map(documents.map(({ id, title }) => [id, title]));
  for (let from = 0; from < documents.length; from += GROUP) {
    const some = documents.slice(from, from + GROUP).map((document) => ({
      ...document,
      texts: chunksOf(document.title, document.text, sizes).map(({ text }) => text),
    }));
    const all = some.flatMap(({ title, texts }) => texts.map((text) => embeddedText(title, text)));
    const vectors = await embedder.embed(all, 'background');
    let at = 0;
    for (const { texts, ...document } of some) {
      const chunks = texts.map((text, no) => ({ text, vector: vectors[at + no] }));
      at += texts.length;
      textsOf.set(document.id, texts);
      index.put({ ...document, chunks });
    }
  }
  return {
    chunks: index.size,
    retrieve: async (message, history = [], rules = RANKING) => {
      const { text, terms } = searchTextsOf(message, history);
      const [vector] = await embedder.embed([text], 'question');
      return index.search({ vector, terms }, rules).map((ranked) => ({
        ...ranked,
        title: titleOf.get(ranked.id) ?? '',
        texts: (textsOf.get(ranked.id) ?? []).slice(ranked.no, ranked.no + ranked.cosines.length),
      }));
    },
  };
};
