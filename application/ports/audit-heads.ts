import type { Position } from './event-store.ts';

/** Last hashes of streams, the tenants' signed heads made of them, and their stores (docs/audit-format.md). */

/** The last revision of a stream and its hash. */
export interface StreamHead {
  readonly stream: string;
  readonly revision: number;
  /** `metadata.hash` of the last event. */
  readonly hash: string;
}

/** A tenant's head before it is signed. */
export interface UnsignedHead {
  readonly tenant_id: string;
  /** Covers all events of the tenant up to this position and none after it. */
  readonly position: string;
  /** Lower-case hex. */
  readonly root: string;
  /** RFC 3339. */
  readonly signed_at: string;
}

export interface SignedHead extends UnsignedHead {
  readonly algorithm: 'Ed25519';
  /** Base64 of the DER form (SPKI). */
  readonly public_key: string;
  /** Base64. */
  readonly signature: string;
}

/** Signs heads. */
export interface HeadSigningKey {
  /** As in {@link SignedHead}. */
  readonly publicKey: string;
  /** Signs the UTF-8 bytes of a text; base64. */
  sign(text: string): string;
}

/** An external receiver of heads. */
export interface HeadSink {
  /** Resolves when the head is stored; may receive a head twice. Rejects with a reason for the log. */
  receive(head: SignedHead, signal: AbortSignal): Promise<void>;
}

export interface WaitingHead {
  readonly seq: number;
  readonly head: SignedHead;
}

/**
 * The last hashes of all streams up to a position of the log: a local cache, rebuilt from the log when lost. Several
 * processes may share it.
 */
export interface HeadStore {
  /** The position up to which hashes are kept; undefined when they start from the first event. */
  position(): Promise<Position | undefined>;
  /** The last merged event, by which its owner checks that the hashes belong to this log. */
  lastNoted(): Promise<StreamHead | undefined>;
  /**
   * Merges later hashes and the position up to which all of them go.
   * @param after the position from which on the caller has read everything
   * @returns false without merging when the store does not reach `after`: another process has reset it
   */
  merge(
    heads: ReadonlyMap<string, NotedHead>,
    after: Position | undefined,
    position: Position,
  ): Promise<boolean>;
  /**
   * Merges hashes of the log after {@link position}, a part at a time, and returns the new position; undefined for an
   * empty log. Only stores that read the log themselves have it; they do not use {@link merge}.
   */
  advance?(): Promise<Position | undefined>;
  /** Drops all hashes if `last` is still {@link lastNoted}; heads waiting for delivery stay. */
  reset(last: StreamHead): Promise<void>;
  /** Reads hashes of streams whose names start with `prefix`, in byte order, of one moment; returns its position. */
  read(
    prefix: string,
    each: (heads: readonly StreamHead[]) => void | Promise<void>,
  ): Promise<Position | undefined>;
  /** Owners (the part of stream names before the first dot) with events since their last {@link signed}. */
  unsigned(): Promise<string[]>;
  signed(owner: string, position: Position): Promise<void>;
  /** Queues a head until {@link delivered}. Drops the oldest beyond `most` and returns how many. */
  keep(head: SignedHead, most: number): Promise<number>;
  /** Oldest first. */
  waiting(limit: number): Promise<WaitingHead[]>;
  delivered(seq: number): Promise<void>;
  close(): Promise<void>;
}

/** The last event of a stream in a part of the log. */
export interface NotedHead {
  readonly revision: number;
  readonly hash: string;
  readonly position: Position;
}
