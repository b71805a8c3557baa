/** Password hashing (decisions, section 3): argon2id, PHC strings. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Without a hash, takes as long as with one and returns false: timing does not reveal whether an account exists. */
  verify(hash: string | undefined, password: string): Promise<boolean>;
}
