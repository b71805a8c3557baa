/** The random parts of API tokens (specification, Authentication 6): base62, each character equally likely. */
export interface TokenSecrets {
  /** 8 characters. */
  prefix(): string;
  /** 43 characters, more than 256 bits. */
  tail(): string;
}
