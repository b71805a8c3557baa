export const SOURCE_KINDS = ['entity_record', 'attachment'] as const;
export type SourceKind = (typeof SOURCE_KINDS)[number];

/** Unique within the tenant. */
export interface SourceKey {
  readonly kind: SourceKind;
  readonly id: string;
}

/** Key of a source in maps. */
export const nameOfSource = ({ kind, id }: SourceKey): string => `${kind}/${id}`;

interface CorpusChunk {
  readonly text: string;
  /** SHA-256 (hex) over the chunker's version, the title and the text. */
  readonly hash: string;
  /** Undefined if and only if `model` of the source is null. */
  readonly vector: Float32Array | undefined;
}

/** A stored source; its chunks are replaced together. */
export interface CorpusSource extends SourceKey {
  /** Revision of the source; compares as text. */
  readonly revision: string;
  readonly title: string;
  /** Id of an attachment's record; null for a record. */
  readonly parent: string | null;
  /** The model of the vectors; null without vectors. */
  readonly model: string | null;
  readonly chunks: readonly CorpusChunk[];
}

/** A source without its texts. A tombstone stands for a removed source and has no hashes. */
export interface SourceSummary extends SourceKey {
  readonly revision: string;
  readonly isTombstone: boolean;
  readonly model: string | null;
  /** Hashes of the source's chunks, in order. */
  readonly hashes: readonly string[];
}

interface SourceChange extends SourceKey {
  /** Grows with every change of the tenant's corpus. */
  readonly seq: number;
  readonly isTombstone: boolean;
}

/** A source as it was at `seq`. */
export interface StoredSource extends CorpusSource {
  readonly seq: number;
}

/** A tenant's last backfill, kept so that its outcome can be read later. */
export interface BackfillRun {
  readonly run: string;
  /** Null until the backfill has ended; stays null after a crash. */
  readonly counts: { readonly added: number; readonly updated: number; readonly skipped: number } | null;
}

/**
 * The assistant's corpus: texts of records and attachments in chunks with embeddings, per tenant. Only `Corpus`
 * (application/assistant) writes sources; a backfill can rebuild them. The corpus is not a read model, since computing
 * an embedding is not a pure fold. Every method throws `StoreUnavailable` when the store does not answer.
 */
export interface CorpusStore {
  /** A change may become visible up to this time (ms) after a change with a higher `seq`. */
  readonly settlesWithin: number;
  /** Whether the tenant has no source, not even a tombstone. */
  isEmpty(tenantId: string): Promise<boolean>;
  summaries(tenantId: string, keys: readonly SourceKey[]): Promise<readonly (SourceSummary | undefined)[]>;
  /**
   * Stores each source atomically, unless the store has a later revision of the source.
   * @returns for each source whether it was stored
   */
  put(tenantId: string, sources: readonly CorpusSource[]): Promise<readonly boolean[]>;
  /** Sets the later revision `to` of an unchanged source. False when the stored revision is not `from`. */
  advance(tenantId: string, key: SourceKey, from: string, to: string): Promise<boolean>;
  /**
   * Replaces a source by a tombstone with `revision`, unless the store has a later revision of the source. A later
   * {@link put} of an older revision then has no effect.
   * @param ifPresent true: does nothing when the store has neither the source nor a tombstone
   */
  putTombstone(tenantId: string, key: SourceKey, revision: string, ifPresent: boolean): Promise<void>;
  /** Ids of a record's attachments, without tombstones. */
  attachmentsOf(tenantId: string, recordId: string): Promise<readonly string[]>;
  /** Sources that changed after `seq`, in order of `seq`. */
  changes(tenantId: string, after: number): Promise<readonly SourceChange[]>;
  /** Undefined for a source that does not exist or is a tombstone. */
  load(tenantId: string, keys: readonly SourceKey[]): Promise<readonly (StoredSource | undefined)[]>;
  /** Sources, of all tenants, that have texts but no vectors; in key order. */
  withoutVectors(limit: number): Promise<readonly (SourceKey & { readonly tenantId: string })[]>;
  backfillRun(tenantId: string): Promise<BackfillRun | undefined>;
  saveBackfillRun(tenantId: string, run: BackfillRun): Promise<void>;
  close(): Promise<void>;
}
