/** Password hashing (decisions, section 3): argon2id, PHC strings. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** With no hash it takes as long and answers false, so that the cost does not tell whether an account exists. */
  verify(hash: string | undefined, password: string): Promise<boolean>;
}
