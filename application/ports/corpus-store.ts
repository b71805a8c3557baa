/**
 * The corpus of the assistant: the texts of records and attachments in chunks, with their embeddings, tenant by tenant.
 * Embeddings are no pure fold, so this is a store of its own and no read model; `Corpus` (application/assistant) alone
 * writes it, and everything in it can be made anew by a backfill.
 */

export const SOURCE_KINDS = ['entity_record', 'attachment'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Unique within the tenant. */
export interface SourceKey {
  readonly kind: SourceKind;
  readonly id: string;
}

export interface CorpusChunk {
  readonly text: string;
  /** `content_hash`: of the chunker's version, the title and the text. */
  readonly hash: string;
  /** Undefined exactly where the source has no `model`. */
  readonly vector: Float32Array | undefined;
}

/** What is stored of a source; its chunks are replaced as one. */
export interface CorpusSource extends SourceKey {
  /** Which state of the source this is; compares as text. */
  readonly revision: string;
  readonly title: string;
  /** The record of an attachment. */
  readonly parent: string | null;
  /** What the vectors are of; null without vectors. */
  readonly model: string | null;
  readonly chunks: readonly CorpusChunk[];
}

/** A source without its texts; a buried one has no chunks. */
export interface SourceHead extends SourceKey {
  readonly revision: string;
  readonly buried: boolean;
  readonly model: string | null;
  /** Of its chunks, in order. */
  readonly hashes: readonly string[];
}

export interface SourceChange extends SourceKey {
  /** Grows with every change of the tenant's corpus. */
  readonly seq: number;
  readonly buried: boolean;
}

/** Present as it was at `seq`. */
export interface StoredSource extends CorpusSource {
  readonly seq: number;
}

/** What is remembered of a tenant's last backfill, so that whoever waits for it learns its outcome. */
export interface BackfillRun {
  readonly run: string;
  /** Null while it has not ended. */
  readonly counts: { readonly added: number; readonly updated: number; readonly skipped: number } | null;
}

/** Every method throws `StoreUnavailable` when the store cannot be reached. */
export interface CorpusStore {
  /** How long (ms) after a change with a higher `seq` one with a lower may still appear. */
  readonly settlesWithin: number;
  /** Whether there is no source of the tenant, not even one that is buried. */
  isEmpty(tenantId: string): Promise<boolean>;
  heads(tenantId: string, keys: readonly SourceKey[]): Promise<readonly (SourceHead | undefined)[]>;
  /**
   * Stores sources, each in one step, unless a later revision is there.
   * @returns which were stored
   */
  put(tenantId: string, sources: readonly CorpusSource[]): Promise<readonly boolean[]>;
  /** The source is the same at a later revision. False when it is not at `from` any more. */
  advance(tenantId: string, key: SourceKey, from: string, to: string): Promise<boolean>;
  /**
   * Takes the chunks of a source away and keeps its revision, so that nothing older comes back.
   * @param ifPresent leaves no trace of a source that is not there
   */
  bury(tenantId: string, key: SourceKey, revision: string, ifPresent: boolean): Promise<void>;
  /** The attachments of a record that have not been buried. */
  attachmentsOf(tenantId: string, recordId: string): Promise<readonly string[]>;
  /** Every source that changed after `seq`, in order of `seq`. */
  changes(tenantId: string, after: number): Promise<readonly SourceChange[]>;
  /** Undefined for what is not there or buried. */
  load(tenantId: string, keys: readonly SourceKey[]): Promise<readonly (StoredSource | undefined)[]>;
  /** Of all tenants, sources with texts and no vectors, in the order of their keys. */
  withoutVectors(limit: number): Promise<readonly (SourceKey & { readonly tenantId: string })[]>;
  backfillRun(tenantId: string): Promise<BackfillRun | undefined>;
  saveBackfillRun(tenantId: string, run: BackfillRun): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
