/** A stored answer of a request with an `Idempotency-Key` (decisions, section 1). */
export interface StoredAnswer {
  /** Hex HMAC-SHA-256 over method, path and canonical JSON of the body, under a server key. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's JSON in stored form: personal texts sealed, secrets left out; null for an empty body. */
  readonly body: string | null;
}

/** One use of a key; after it expires the key may be used again. */
export interface KeyUse {
  /** As in {@link StoredAnswer}. */
  readonly fingerprint: string;
  /** Random and secret; ids and causation of this use are derived from it. */
  readonly nonce: string;
}

/** The stored record of a key: the start of a request, or its answer. */
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
   * Stores durably that a request with this key starts. When one has started before, on any node, its use is returned
   * and kept: the command then searches its stream for events of that request.
   */
  begin(
    scope: string,
    key: string,
    use: KeyUse,
    expiresAt: number,
  ): Promise<{ readonly first: boolean; readonly use: KeyUse }>;
  /** Removes a use that was refused without effect; one with an answer or another nonce stays. */
  release(scope: string, key: string, nonce: string): Promise<void>;
  /** Stores the first answer for the key until `expiresAt` (ms); later ones are ignored. */
  put(scope: string, key: string, answer: StoredAnswer, expiresAt: number): Promise<void>;
  /** Every beginning and every answer, in no order. */
  list(): AsyncIterable<StoredUse>;
  /** Removes expired rows. */
  sweep(now: number): Promise<void>;
  close(): Promise<void>;
}
