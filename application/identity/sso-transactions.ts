import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { decrypt, encrypt } from '../core/privacy/aes-gcm.ts';
import type { Clock } from '../ports/clock.ts';

/** A started sign-in, kept encrypted in a cookie until the browser returns. */
const schema = z.object({
  tenantId: z.string(),
  /** Revision of the tenant's settings; a change of the settings ends the sign-in. */
  revision: z.number(),
  nonce: z.string(),
  codeVerifier: z.string(),
  redirectUri: z.string(),
  returnTo: z.string().optional(),
  /** ms */
  expiresAt: z.number(),
});
type Transaction = z.output<typeof schema>;

export const TRANSACTION_MS = 10 * 60_000;

/** Bytes of IV and tag; an encrypted text is never shorter. */
const SHORTEST = 28;

/** Encrypts transactions by AES-256-GCM with a key derived from `MASTER_KEY`; each is bound to its `state`. */
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

  /** Undefined for a text that `seal` did not make for this state, and for an expired transaction. */
  open(state: string, sealed: string): Transaction | undefined {
    const bytes = Buffer.from(sealed, 'base64url');
    // Accepts only canonical base64url.
    if (bytes.length < SHORTEST || bytes.toString('base64url') !== sealed) return undefined;
    let text: string;
    try {
      text = decrypt(this.#key, contextOf(state), bytes).toString('utf8');
    } catch {
      return undefined;
    }
    // Another version of the product may have made the transaction.
    const { data: transaction } = schema.safeParse(JSON.parse(text));
    return transaction !== undefined && transaction.expiresAt > this.#clock.now() ? transaction : undefined;
  }
}

const contextOf = (state: string): string => `sso-transaction\n${state}`;
