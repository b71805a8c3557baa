import { nextTick } from '../core/runtime/timers.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { CorpusStore, SourceKey, SourceSummary, StoredSource } from '../ports/corpus-store.ts';
import { type Embedder, EmbedderUnavailable } from '../ports/embedder.ts';
import { CHUNKER_VERSION, type Chunk, chunksOf, embeddedText } from './chunker.ts';

/** A source as it is at one revision. */
export interface SourceDocument extends SourceKey {
  readonly revision: string;
  readonly parent: string | null;
  readonly title: string;
  readonly text: string;
}

/** `skipped`: the corpus already had this text or a later revision, or the text is new and empty. */
export type Outcome = 'added' | 'updated' | 'skipped';

/** Revision of a deleted source, greater than any other. */
export const GONE = '~';

/** Revision of a record: the record's version, and the revision of the schema whose labels are in its text. */
export const recordRevision = (version: number, schemaRevision: number): string =>
  `${String(version).padStart(12, '0')}.${String(schemaRevision).padStart(8, '0')}`;

/** Attachments never change, so only the chunker's version counts. */
export const ATTACHMENT_REVISION = recordRevision(CHUNKER_VERSION, 0);

/** Adds the vectors of `missing` texts to `known`, by hash. Returns the model; null when vectors are left out. */
type Embed = (
  missing: ReadonlyMap<string, string>,
  known: Map<string, Float32Array>,
) => Promise<string | null>;

const LONG_TEXT = 20_000;

interface Plan {
  readonly document: SourceDocument;
  readonly chunks: readonly Chunk[];
  readonly stored: SourceSummary | undefined;
}

/**
 * Writes the corpus, for the indexer, the backfill and `Completion`. Skips sources whose text and model are unchanged,
 * and never replaces a later revision.
 */
export class Corpus extends WithDeps<{ readonly store: CorpusStore; readonly embedder: Embedder }> {
  /**
   * @param without what to do without a model: `store` stores texts without vectors, so that no outdated text is found
   * @throws {EmbedderUnavailable} without a model, for `fail`
   */
  async write(
    tenantId: string,
    documents: readonly SourceDocument[],
    without: 'store' | 'fail',
  ): Promise<readonly Outcome[]> {
    return this.#write(tenantId, documents, (missing, known) => this.#embed(missing, known, without));
  }

  async #write(
    tenantId: string,
    documents: readonly SourceDocument[],
    embed: Embed,
  ): Promise<readonly Outcome[]> {
    const summaries = await this.deps.store.summaries(tenantId, documents);
    const plans: Plan[] = [];
    for (const [index, document] of documents.entries()) {
      const chunks = chunksOf(document.title, document.text);
      plans.push({ document, chunks, stored: summaries[index] });
      // Yields after a large text.
      if (document.text.length > LONG_TEXT) await nextTick();
    }
    const due = plans.filter((plan) => this.#isDue(plan));
    const sources = due.length === 0 ? [] : await this.#sources(tenantId, due, embed);
    const stored = await this.deps.store.put(tenantId, sources);
    const outcomes = new Map(
      due.map((plan, index) => [plan.document, stored[index] === true ? outcomeOf(plan) : 'skipped']),
    );
    await this.#advance(tenantId, plans);
    return documents.map((document) => outcomes.get(document) ?? 'skipped');
  }

  /**
   * Stores texts, which keyword search finds at once. Also stores vectors if at most `atMost` chunks need a new vector
   * and a model is loaded; otherwise leaves all vectors to {@link complete}.
   * @returns false when more than `atMost` chunks needed a new vector
   */
  async writeTexts(tenantId: string, documents: readonly SourceDocument[], atMost: number): Promise<boolean> {
    let isWhole = true;
    await this.#write(tenantId, documents, async (missing, known) => {
      isWhole = missing.size <= atMost;
      return isWhole ? this.#embed(missing, known, 'store') : null;
    });
    return isWhole;
  }

  /**
   * Computes the vectors of a source that was stored without vectors.
   * @throws {EmbedderUnavailable}
   */
  async complete(tenantId: string, key: SourceKey): Promise<void> {
    const missing = async (): Promise<StoredSource | undefined> => {
      const [source] = await this.deps.store.load(tenantId, [key]);
      return source === undefined || source.model !== null || source.chunks.length === 0 ? undefined : source;
    };
    const before = await missing();
    if (before === undefined) return;
    const known = new Map<string, Float32Array>();
    const texts = new Map(before.chunks.map(({ hash, text }) => [hash, embeddedText(before.title, text)]));
    const model = await this.#embed(texts, known, 'fail');
    // The source may have changed during the embedding; vectors are stored only for the same texts.
    for (let now = await missing(); now !== undefined; now = await missing()) {
      const { seq: _seq, ...source } = now;
      const chunks = source.chunks.map((chunk) => ({ ...chunk, vector: known.get(chunk.hash) }));
      if (chunks.some(({ vector }) => vector === undefined)) return;
      if ((await this.deps.store.put(tenantId, [{ ...source, model, chunks }]))[0] === true) return;
    }
  }

  /** Deletes a source; for a record, its attachments too. */
  async delete(tenantId: string, key: SourceKey, ifPresent: boolean): Promise<void> {
    await this.deps.store.putTombstone(tenantId, key, GONE, ifPresent);
    if (key.kind !== 'entity_record') return;
    for (const id of await this.deps.store.attachmentsOf(tenantId, key.id))
      await this.deps.store.putTombstone(tenantId, { kind: 'attachment', id }, GONE, ifPresent);
  }

  /** Removes the text of a changed source that the tenant may not index; a backfill restores it. */
  forget(tenantId: string, key: SourceKey, revision: string): Promise<void> {
    return this.deps.store.putTombstone(tenantId, key, revision, true);
  }

  /** Whether the corpus has neither a source nor a tombstone of a tenant. */
  isEmpty(tenantId: string): Promise<boolean> {
    return this.deps.store.isEmpty(tenantId);
  }

  /** For each attachment: whether the corpus has its present state, so that its bytes need not be read. */
  async holds(tenantId: string, ids: readonly string[]): Promise<readonly boolean[]> {
    const keys = ids.map((id): SourceKey => ({ kind: 'attachment', id }));
    return (await this.deps.store.summaries(tenantId, keys)).map((stored) => {
      if (stored === undefined || stored.revision < ATTACHMENT_REVISION) return false;
      if (stored.isTombstone) return stored.revision === GONE;
      return stored.hashes.length === 0 || this.#isCurrent(stored);
    });
  }

  #isCurrent(stored: SourceSummary): boolean {
    return stored.model === this.deps.embedder.model;
  }

  #isDue({ document, chunks, stored }: Plan): boolean {
    if (stored === undefined) return true;
    if (stored.revision > document.revision) return false;
    return stored.isTombstone || !this.#hasSame(stored, chunks);
  }

  #hasSame(stored: SourceSummary, chunks: readonly Chunk[]): boolean {
    if (stored.isTombstone || stored.hashes.length !== chunks.length) return false;
    if (chunks.length > 0 && !this.#isCurrent(stored)) return false;
    return chunks.every(({ hash }, index) => stored.hashes[index] === hash);
  }

  /** Records a later revision of an unchanged text, so that no older revision replaces it. */
  async #advance(tenantId: string, plans: readonly Plan[]): Promise<void> {
    for (const { document, chunks, stored } of plans) {
      if (stored === undefined || stored.revision >= document.revision || !this.#hasSame(stored, chunks))
        continue;
      await this.deps.store.advance(tenantId, document, stored.revision, document.revision);
    }
  }

  async #sources(tenantId: string, plans: readonly Plan[], embed: Embed) {
    const known = await this.#knownVectors(tenantId, plans);
    const missing = new Map<string, string>();
    for (const { document, chunks } of plans) {
      for (const { hash, text } of chunks) {
        if (!known.has(hash)) missing.set(hash, embeddedText(document.title, text));
      }
    }
    const model = await embed(missing, known);
    return plans.map(({ document: { text: _text, ...document }, chunks }) => ({
      ...document,
      model: chunks.length === 0 ? null : model,
      chunks: chunks.map((chunk) => ({
        ...chunk,
        vector: model === null ? undefined : known.get(chunk.hash),
      })),
    }));
  }

  /** Stored vectors by chunk hash. A hash covers title and text, so chunks with the same hash have the same vector. */
  async #knownVectors(tenantId: string, plans: readonly Plan[]): Promise<Map<string, Float32Array>> {
    const known = new Map<string, Float32Array>();
    const kept = plans.filter(({ chunks, stored }) => {
      if (stored === undefined || stored.isTombstone || !this.#isCurrent(stored)) return false;
      const hashes = new Set(stored.hashes);
      return chunks.some(({ hash }) => hashes.has(hash));
    });
    for (const source of await this.deps.store.load(
      tenantId,
      kept.map(({ document }) => document),
    )) {
      if (source?.model !== this.deps.embedder.model) continue;
      for (const { hash, vector } of source.chunks) if (vector !== undefined) known.set(hash, vector);
    }
    return known;
  }

  /** @returns the model of the vectors; null without a model, for `store` */
  async #embed(
    missing: ReadonlyMap<string, string>,
    known: Map<string, Float32Array>,
    without: 'store' | 'fail',
  ): Promise<string | null> {
    try {
      const vectors = await this.deps.embedder.embed([...missing.values()], 'background');
      for (const [index, hash] of [...missing.keys()].entries()) {
        const vector = vectors[index];
        if (vector !== undefined) known.set(hash, vector);
      }
      return this.deps.embedder.model;
    } catch (error) {
      if (without === 'store' && error instanceof EmbedderUnavailable) return null;
      throw error;
    }
  }
}

const outcomeOf = ({ chunks, stored }: Plan): Outcome => {
  const before = stored === undefined || stored.isTombstone ? 0 : stored.hashes.length;
  if (before === 0) return chunks.length === 0 ? 'skipped' : 'added';
  return 'updated';
};
