import { randomBytes } from 'node:crypto';
import { type Algorithm, hash, verify } from '@node-rs/argon2';
import type { Passwords } from '../../application/ports/passwords.ts';

// The package's const enum cannot be imported as a value; 2 is argon2id.
const ARGON2ID: Algorithm = 2;
const options = { algorithm: ARGON2ID, memoryCost: 19_456, timeCost: 2, parallelism: 1 };

/** argon2id at the minimum cost that OWASP recommends, on the thread pool. */
export const argon2Passwords = (): Passwords => {
  // A hash that no password matches. It is verified for an unknown e-mail, so that the answer takes as long as for a
  // known e-mail.
  const nobody = hash(randomBytes(32).toString('hex'), options);
  return {
    hash: (password) => hash(password.normalize('NFC'), options),
    verify: async (stored, password) => {
      const matches = await verify(stored ?? (await nobody), password.normalize('NFC'));
      return matches && stored !== undefined;
    },
  };
};
