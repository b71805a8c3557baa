import type { Readable } from 'node:stream';

/** The place of a blob. Adapters check both parts, so that no name leads to another place. */
export interface BlobRef {
  /** `[a-z][a-z0-9_]{0,39}` */
  readonly tenantId: string;
  /** A UUID in lower case. */
  readonly id: string;
}

export interface StoredBlob {
  /** Bytes. */
  readonly size: number;
  /** Lower-case hex. */
  readonly sha256: string;
}

/** Both ends inclusive, as in HTTP. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

interface OpenBlob {
  /** Size of the whole blob (bytes). */
  readonly size: number;
  /** Must be read or destroyed; fails when the blob is deleted during the read. */
  readonly stream: Readable;
}

/** Bytes of uploaded files; a blob is written once. Methods throw `StoreUnavailable` when the store does not answer. */
export interface BlobStore {
  /** Stores a stream; resolves when it is on disk. After an error of the source or the store nothing is left. */
  put(ref: BlobRef, source: Readable): Promise<StoredBlob>;
  /** Gives a blob another id of the same tenant, replacing the blob there. Resolves when that is on disk. */
  move(from: BlobRef, toId: string): Promise<void>;
  /** Undefined when the blob does not exist. */
  open(ref: BlobRef, range?: ByteRange): Promise<OpenBlob | undefined>;
  /**
   * Deletes a blob, if it exists.
   * @param before deletes only a blob that was put or moved there before this time (ms)
   */
  delete(ref: BlobRef, before?: number): Promise<void>;
  /** All blobs, in no order, with the time (ms) of their put or move. */
  list(): AsyncIterable<{ readonly ref: BlobRef; readonly at: number }>;
  /** Removes partial puts of ended processes that began before this time (ms). */
  tidy(before: number): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
