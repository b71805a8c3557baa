/** The time of day, injected like {@link Ids} so that decisions and tests are repeatable. */
export interface Clock {
  /** Milliseconds since 1970, UTC. */
  now(): number;
}

export interface Ids {
  /** A new UUIDv7, lower case. */
  next(): string;
}
