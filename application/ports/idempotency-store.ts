/** Stored answers of requests with an `Idempotency-Key` (decisions, section 1). A port of its own, no read model. */
export interface StoredAnswer {
  /** Lower-case hex HMAC-SHA-256 over method, path and canonical JSON of the body, under a key of the server's. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's JSON text in stored form: personal texts sealed, secrets left out; null for an empty body. */
  readonly body: string | null;
}

/** One use of a key: after it has expired, the same key is used anew. */
export interface KeyUse {
  /** As in {@link StoredAnswer}. */
  readonly fingerprint: string;
  /** Random: ids and causation of this use are derived from it, and nobody else can know them. */
  readonly nonce: string;
}

export interface IdempotencyStore {
  /** @param scope tenant and caller @param key the header's value */
  get(scope: string, key: string): Promise<StoredAnswer | undefined>;
  /**
   * Notes durably that a request with this key begins. When one has begun before (here, on another node or in a
   * process that died), its note is given back and stays: the command then looks in its stream for what that one
   * appended.
   */
  begin(
    scope: string,
    key: string,
    use: KeyUse,
    expiresAt: number,
  ): Promise<{ readonly first: boolean; readonly use: KeyUse }>;
  /** Forgets a use that was refused and so had no effect; one that has an answer, or another one, stays. */
  release(scope: string, key: string, nonce: string): Promise<void>;
  /** Keeps the first answer for the key until `expiresAt` (ms); a second put changes nothing. */
  put(scope: string, key: string, answer: StoredAnswer, expiresAt: number): Promise<void>;
  /** Removes what has expired. */
  sweep(now: number): Promise<void>;
  close(): Promise<void>;
}
