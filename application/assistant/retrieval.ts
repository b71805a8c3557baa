import { DomainError } from '../../domain/core/errors.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { SourceKey } from '../ports/corpus-store.ts';
import { type Embedder, EmbedderUnavailable } from '../ports/embedder.ts';
import { searchTextsOf, type Turn } from './question.ts';
import { RANKING } from './ranking.ts';
import type { Passage, PassageSearch } from './tenant-indexes.ts';

/** The record that a page links a passage to. */
export interface SourceRecord {
  readonly recordId: string;
  readonly entityName: string;
}

export type CitedPassage = Passage & SourceRecord;

/** Finds the passages of a tenant's corpus that a question is about. */
export class Retrieval extends WithDeps<{
  readonly embedder: Embedder;
  readonly search: PassageSearch;
  /** The record that a source is or belongs to; undefined when deleted, even if the corpus still has the source. */
  readonly recordOf: (tenantId: string, source: SourceKey) => Promise<SourceRecord | undefined>;
}> {
  /**
   * Returns at most six passages, best first; none when no passage is relevant.
   * @throws {DomainError} `embedding_model_unavailable`
   */
  async retrieve(
    tenantId: string,
    message: string,
    history: readonly Turn[] = [],
  ): Promise<readonly CitedPassage[]> {
    const { text, terms } = searchTextsOf(message, history);
    const [vector] = await orModelUnavailable(this.deps.embedder.embed([text], 'question'));
    const found = await this.deps.search.search(tenantId, { vector, terms });
    const cited = await Promise.all(
      found.map(async (passage) => {
        const record = await this.deps.recordOf(tenantId, passage);
        return record === undefined ? [] : [{ ...passage, ...record }];
      }),
    );
    return cited.flat().slice(0, RANKING.limit);
  }
}

/** Turns a missing model into 503 `embedding_model_unavailable` (specification, Errors). */
export const orModelUnavailable = async <T>(work: Promise<T>): Promise<T> => {
  try {
    return await work;
  } catch (error) {
    if (!(error instanceof EmbedderUnavailable)) throw error;
    throw new DomainError(
      'embedding_model_unavailable',
      'The embedding model is not loaded on this server. Ask its operator to install the model.',
    );
  }
};
