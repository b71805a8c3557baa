/** Password hashing (decisions, section 3): argon2id, PHC strings. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** Returns false for an undefined hash after the usual time, so that timing does not reveal whether a user exists. */
  verify(hash: string | undefined, password: string): Promise<boolean>;
}
