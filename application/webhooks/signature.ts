import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import type { KeyRing } from '../core/privacy/key-ring.ts';

/** What a receiver is told beside the body (specification, Webhook events, Headers). */
export interface Signed {
  readonly event: string;
  readonly deliveryId: string;
  readonly attempt: number;
  readonly body: Uint8Array;
  /** ms */
  readonly now: number;
  readonly secret: SigningKey;
  /** Of the rotation before, while it still verifies. */
  readonly previous?: SigningKey | undefined;
}

export type SigningKey = KeyObject;

/** The key is the UTF-8 bytes of the whole secret, `whsec_` included. */
export const signingKeyOf = (secret: string): SigningKey => createSecretKey(secret, 'utf8');

/** `sha256=<hex>`. @param key or the secret itself */
export const signatureOf = (key: SigningKey | string, body: Uint8Array): string =>
  `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

const MAX_SIGNING_KEYS = 2_000;

/** Secrets as keys, so that each is opened once and not at each call. One whose data key is gone is none here either. */
export class SigningKeys {
  readonly #keys: KeyRing;
  readonly #opened = new Map<string, SigningKey>();

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  /** One that was opened before, at once; not when its data key has gone, or may have. */
  known(sealed: string): SigningKey | undefined {
    const known = this.#opened.get(sealed);
    return known !== undefined && this.#keys.opens(sealed) ? known : undefined;
  }

  /** @param sealed the secret. Undefined when it cannot be had any more */
  async of(sealed: string): Promise<SigningKey | undefined> {
    const known = this.known(sealed);
    if (known !== undefined) return known;
    this.#opened.delete(sealed);
    const secret = await this.#keys.open(sealed);
    if (secret === undefined) return undefined;
    const key = signingKeyOf(secret);
    this.#opened.set(sealed, key);
    if (this.#opened.size > MAX_SIGNING_KEYS) {
      const oldest = this.#opened.keys().next().value;
      if (oldest !== undefined) this.#opened.delete(oldest);
    }
    return key;
  }
}

export const headersOf = (signed: Signed): Readonly<Record<string, string>> => ({
  'Content-Type': 'application/json',
  'User-Agent': 'Service-Webhooks/1.0',
  'X-Service-Event': signed.event,
  'X-Service-Delivery': signed.deliveryId,
  'X-Service-Timestamp': String(Math.floor(signed.now / 1000)),
  'X-Service-Signature': signatureOf(signed.secret, signed.body),
  ...(signed.previous === undefined
    ? {}
    : { 'X-Service-Signature-Previous': signatureOf(signed.previous, signed.body) }),
  'X-Service-Attempt': String(signed.attempt),
});
