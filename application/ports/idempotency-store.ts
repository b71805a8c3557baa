/** Stored answers of requests with an `Idempotency-Key` (decisions, section 1). A port of its own, no read model. */
export interface StoredAnswer {
  /** Lower-case hex SHA-256 over method, path and canonical JSON of the body. */
  readonly fingerprint: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The answer's JSON text in stored form: personal texts sealed, secrets left out; null for an empty body. */
  readonly body: string | null;
}

export interface IdempotencyStore {
  /** @param scope tenant and caller @param key the header's value */
  get(scope: string, key: string): Promise<StoredAnswer | undefined>;
  /**
   * Notes durably that a request with this key begins. `again` when one has begun before (here, on another node or
   * in a process that died): the command then looks in its stream for what that one appended.
   */
  begin(scope: string, key: string, expiresAt: number): Promise<'first' | 'again'>;
  /** Keeps the first answer for the key until `expiresAt` (ms); a second put changes nothing. */
  put(scope: string, key: string, answer: StoredAnswer, expiresAt: number): Promise<void>;
  /** Removes what has expired. */
  sweep(now: number): Promise<void>;
  close(): Promise<void>;
}
