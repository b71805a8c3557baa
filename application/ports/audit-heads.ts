import type { Position } from './event-store.ts';

/** Last hashes of streams, the signed heads made from these hashes, and the store of both (docs/audit-format.md). */

/** The last revision of a stream and its hash. */
export interface LastRevision {
  readonly stream: string;
  readonly revision: number;
  /** `metadata.hash` of the last event. */
  readonly hash: string;
}

/** A tenant's head before it is signed. */
export interface UnsignedHead {
  readonly tenant_id: string;
  /** The head covers all events of the tenant up to this position, and no later ones. */
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

export interface HeadSigningKey {
  /** Base64 of the DER form (SPKI). */
  readonly publicKey: string;
  /** Signs the UTF-8 bytes of a text. @returns the signature in base64 */
  sign(text: string): string;
}

/** An external receiver of heads. */
export interface HeadSink {
  /** Resolves when the head is stored, and rejects otherwise. The caller may send the same head twice. */
  receive(head: SignedHead, signal: AbortSignal): Promise<void>;
}

export interface WaitingHead {
  readonly seq: number;
  readonly head: SignedHead;
}

/**
 * The last hashes of all streams up to a position of the log, and the heads waiting for delivery. Lost hashes are
 * rebuilt from the log; lost heads are not. Several processes may share the store.
 */
export interface HeadStore {
  /** The position up to which hashes are stored; undefined before the first merge or after {@link reset}. */
  position(): Promise<Position | undefined>;
  /** The last merged event, by which a caller checks that the stored hashes belong to the present log. */
  lastNoted(): Promise<LastRevision | undefined>;
  /**
   * Merges the hashes of the events after `after` up to `position`, and stores `position`.
   * @returns false, and merges nothing, when the store's position is before `after`: another process has reset the
   * store
   */
  merge(
    noted: ReadonlyMap<string, NotedRevision>,
    after: Position | undefined,
    position: Position,
  ): Promise<boolean>;
  /**
   * Reads a part of the log after {@link position}, merges its hashes and returns the new position; undefined for an
   * empty log. Only stores that read the log themselves have this method; if it fails, callers use {@link merge}.
   */
  advance?(): Promise<Position | undefined>;
  /** Drops all hashes if `last` is still {@link lastNoted}; heads waiting for delivery stay. */
  reset(last: LastRevision): Promise<void>;
  /**
   * Reads the hashes of streams whose names start with `prefix`, in byte order of the names, as of one position.
   * @returns that position
   */
  read(
    prefix: string,
    each: (revisions: readonly LastRevision[]) => void | Promise<void>,
  ): Promise<Position | undefined>;
  /** Owners (stream names up to the first dot) with events after the position last given to {@link signed}. */
  unsigned(): Promise<string[]>;
  /** Records that a head of the owner at `position` was signed. */
  signed(owner: string, position: Position): Promise<void>;
  /** Queues a head until {@link delivered}. Drops the tenant's oldest heads beyond `most`; returns how many. */
  enqueue(head: SignedHead, most: number): Promise<number>;
  /** Heads with a `seq` after `after`, oldest first. */
  waiting(limit: number, after: number): Promise<WaitingHead[]>;
  delivered(seq: number): Promise<void>;
  close(): Promise<void>;
}

/** The last event of a stream in a part of the log. */
export interface NotedRevision {
  readonly revision: number;
  readonly hash: string;
  readonly position: Position;
}
