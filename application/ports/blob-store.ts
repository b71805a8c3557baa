import type { Readable } from 'node:stream';

/**
 * Bytes of uploaded files. A blob is written once and never changed. Every method throws `StoreUnavailable` when the
 * store cannot be reached.
 */

/** Where a blob lies. Both parts are checked by each adapter, so that no name leads elsewhere. */
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

/** Both ends included, as in HTTP; within the blob. */
export interface ByteRange {
  readonly first: number;
  readonly last: number;
}

export interface OpenBlob {
  /** Of the whole blob, bytes. */
  readonly size: number;
  /** Must be read or destroyed; a blob deleted meanwhile may break it off. */
  readonly stream: Readable;
}

export interface BlobStore {
  /**
   * Takes a stream in, piece by piece; resolves when all of it is on disk. When the source fails, or the store does,
   * nothing is left, and the error is the source's.
   */
  put(ref: BlobRef, source: Readable): Promise<StoredBlob>;
  /** Gives a blob another id of the same tenant, in place of what is there. Resolves when that is on disk. */
  move(from: BlobRef, toId: string): Promise<void>;
  /** Undefined when there is none. */
  open(ref: BlobRef, range?: ByteRange): Promise<OpenBlob | undefined>;
  /**
   * Deletes a blob; none is fine.
   * @param before only one that was put or moved there before this time (ms): a newer one stays
   */
  delete(ref: BlobRef, before?: number): Promise<void>;
  /** Every blob, in no order, and when it was put or moved there (ms). */
  list(): AsyncIterable<{ readonly ref: BlobRef; readonly at: number }>;
  /** Removes what puts have left that were cut off by the end of their process, and began before this time (ms). */
  tidy(before: number): Promise<void>;
  ping(): Promise<void>;
  close(): Promise<void>;
}
