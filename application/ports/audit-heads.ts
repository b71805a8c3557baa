import type { Position } from './event-store.ts';

/** Heads of streams, the tenant-wide heads made of them, and where these are kept (docs/audit-format.md). */

/** Where a stream ends. */
export interface StreamHead {
  readonly stream: string;
  readonly revision: number;
  /** `metadata.hash` of its last event. */
  readonly hash: string;
}

/** A tenant-wide head before it is signed. */
export interface UnsignedHead {
  readonly tenant_id: string;
  /** Everything of the tenant up to here, and nothing after it. */
  readonly position: string;
  /** Lower-case hex. */
  readonly root: string;
  /** RFC 3339. */
  readonly signed_at: string;
}

export interface SealedHead extends UnsignedHead {
  readonly algorithm: 'Ed25519';
  /** Base64 of the DER form (SPKI). */
  readonly public_key: string;
  /** Base64. */
  readonly signature: string;
}

/** What signs heads. */
export interface HeadSigningKey {
  /** As in {@link SealedHead}. */
  readonly publicKey: string;
  /** Of the text in UTF-8; base64. */
  sign(text: string): string;
}

/** A place outside that receives each head. */
export interface HeadSink {
  /** Resolves when the head is there; may be told the same one twice. Rejects with a reason for the log. */
  receive(head: SealedHead, signal: AbortSignal): Promise<void>;
}

export interface WaitingHead {
  readonly seq: number;
  readonly head: SealedHead;
}

/**
 * The heads of all streams up to a position of the log: a cache of this machine that is made again from the log when it
 * is gone, so that a root costs no reading of the log. Several processes may share it.
 */
export interface HeadStore {
  /** How far the heads go; undefined when they are to be made from the first event on. */
  position(): Promise<Position | undefined>;
  /** The last event that was noted: with it the owner can tell whether this is the log that the heads are of. */
  lastNoted(): Promise<StreamHead | undefined>;
  /**
   * Takes over heads that are later than those that are kept, and the position that all of them go up to.
   * @param after the caller has seen everything from there to `position`
   * @returns false, and nothing is taken over, where the heads do not go as far as `after`: another process has begun anew
   */
  merge(
    heads: ReadonlyMap<string, NotedHead>,
    after: Position | undefined,
    position: Position,
  ): Promise<boolean>;
  /**
   * Takes over the heads of what the log holds from {@link position} on, some of it at a time, and gives how far they go
   * then; undefined for an empty log. A store that can read the log by itself has it, and is then given nothing to
   * {@link merge}.
   */
  advance?(): Promise<Position | undefined>;
  /** Forgets all heads, if this is still what {@link lastNoted} gives; what waits to be delivered stays. */
  reset(last: StreamHead): Promise<void>;
  /** Heads whose streams begin with `prefix`, in the order of their bytes, all of one moment; gives its position. */
  read(
    prefix: string,
    each: (heads: readonly StreamHead[]) => void | Promise<void>,
  ): Promise<Position | undefined>;
  /** Owners (what stands before the first dot of a stream's name) of events since their last {@link sealed}. */
  unsealed(): Promise<string[]>;
  sealed(owner: string, position: Position): Promise<void>;
  /** Keeps a head until {@link delivered}. Past `most`, the oldest are given up; says how many. */
  keep(head: SealedHead, most: number): Promise<number>;
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
