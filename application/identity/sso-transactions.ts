import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { decrypt, encrypt } from '../core/privacy/aes-gcm.ts';
import type { Clock } from '../ports/clock.ts';

/** A sign-in at a provider that has begun: kept by the browser that began it, sealed, until it comes back. */

const schema = z.object({
  tenantId: z.string(),
  /** Of the tenant's settings: a sign-in does not outlive them. */
  revision: z.number(),
  nonce: z.string(),
  codeVerifier: z.string(),
  redirectUri: z.string(),
  returnTo: z.string().optional(),
  /** ms */
  expiresAt: z.number(),
});
export type Transaction = z.output<typeof schema>;

export const TRANSACTION_MS = 10 * 60_000;

/** IV and tag: nothing shorter can be opened. */
const SHORTEST = 28;

/** AES-256-GCM under a key derived from `MASTER_KEY`, bound to the `state`: another state opens nothing. */
export class SsoTransactions {
  readonly #key: KeyObject;
  readonly #clock: Clock;

  constructor(masterKey: string, clock: Clock) {
    this.#key = createSecretKey(Buffer.from(hkdfSync('sha256', masterKey, '', 'sso-transaction', 32)));
    this.#clock = clock;
  }

  seal(state: string, transaction: Omit<Transaction, 'expiresAt'>): string {
    const whole: Transaction = { ...transaction, expiresAt: this.#clock.now() + TRANSACTION_MS };
    return encrypt(this.#key, contextOf(state), JSON.stringify(whole)).toString('base64url');
  }

  /** Undefined for what was not sealed here for this state, and for what has expired. */
  open(state: string, sealed: string): Transaction | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    // One spelling only: a decoder forgives others.
    if (bytes.length < SHORTEST || bytes.toString('base64url') !== sealed) return undefined;
    let text: string;
    try {
      text = decrypt(this.#key, contextOf(state), bytes).toString('utf8');
    } catch {
      return undefined;
    }
    const transaction = schema.parse(JSON.parse(text));
    return transaction.expiresAt > this.#clock.now() ? transaction : undefined;
  }
}

const contextOf = (state: string): string => `sso-transaction\n${state}`;
