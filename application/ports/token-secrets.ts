/** Random parts of API tokens (specification, Authentication 6): uniform base62. */
export interface TokenSecrets {
  /** 8 characters. */
  prefix(): string;
  /** 43 characters, more than 256 bits. */
  randomText(): string;
}
