import type { Readable } from 'node:stream';

/** The key of a blob. Adapters check the form of both parts, so that no key can name a file outside the store. */
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
  /** The caller must read or destroy the stream. It may fail when the blob is deleted during the read. */
  readonly stream: Readable;
}

/** Bytes of uploaded files; a blob is written once. Methods throw `StoreUnavailable` when the store does not answer. */
export interface BlobStore {
  /**
   * Stores a stream; resolves when all bytes are on disk. After an error of the source no blob exists, after an error
   * of the store it may exist; bytes that could not be removed are left to {@link tidy}.
   */
  put(ref: BlobRef, source: Readable): Promise<StoredBlob>;
  /** Gives a blob another id in the same tenant, replacing a blob of that id. Resolves when the change is on disk. */
  move(from: BlobRef, toId: string): Promise<void>;
  /** Undefined when the blob does not exist. */
  open(ref: BlobRef, range?: ByteRange): Promise<OpenBlob | undefined>;
  /**
   * Deletes a blob, if it exists.
   * @param before deletes the blob only if it was put at, or moved to, `ref` before this time (ms)
   */
  delete(ref: BlobRef, before?: number): Promise<void>;
  /** All blobs, in no order, with the time (ms) of their put or move. */
  list(): AsyncIterable<{ readonly ref: BlobRef; readonly at: number }>;
  /** Removes what is left of unfinished puts that began before this time (ms), for example in a killed process. */
  tidy(before: number): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
