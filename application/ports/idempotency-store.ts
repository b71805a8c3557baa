/** A stored answer of a request with an `Idempotency-Key` (decisions, section 1). */
export interface StoredAnswer {
  /** Hex HMAC-SHA-256 over method, path and canonical JSON of the body, under a server key. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's JSON in stored form: personal texts sealed, secrets left out; null for an empty body. */
  readonly body: string | null;
}

/** One use of a key. The key is free again when the use has expired and was swept. */
export interface KeyUse {
  /** The same as {@link StoredAnswer.fingerprint}. */
  readonly fingerprint: string;
  /** Random and secret; ids and causation of this use are derived from it. */
  readonly nonce: string;
}

/** One of the two facts stored for a key: the `use` of a request that has started, or the request's `answer`. */
export type StoredUse = {
  readonly scope: string;
  readonly key: string;
  /** ms */
  readonly expiresAt: number;
} & ({ readonly use: KeyUse } | { readonly answer: StoredAnswer });

export interface IdempotencyStore {
  /** @param scope tenant and caller @param key the header's value */
  get(scope: string, key: string): Promise<StoredAnswer | undefined>;
  /**
   * Stores durably that a request with this key starts. If an earlier request with the key has started on any node, the
   * earlier use is kept and returned: the command then searches its stream for events of the earlier request.
   */
  begin(
    scope: string,
    key: string,
    use: KeyUse,
    expiresAt: number,
  ): Promise<{ readonly first: boolean; readonly use: KeyUse }>;
  /**
   * Removes the use of a request that was refused without effect. A stored answer or a use with another nonce stays.
   */
  release(scope: string, key: string, nonce: string): Promise<void>;
  /** Stores the first answer for the key until `expiresAt` (ms); ignores later answers. */
  put(scope: string, key: string, answer: StoredAnswer, expiresAt: number): Promise<void>;
  /** All stored uses and answers, in no order. */
  list(): AsyncIterable<StoredUse>;
  /** Removes expired rows. */
  sweep(now: number): Promise<void>;
  close(): Promise<void>;
}
