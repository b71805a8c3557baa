import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { evictOldest } from '../core/memory/evict-oldest.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';

/** Data of the headers (specification, Webhook events, Headers). */
export interface Signed {
  readonly event: string;
  readonly deliveryId: string;
  readonly attempt: number;
  readonly body: Uint8Array;
  /** ms */
  readonly now: number;
  readonly secret: SigningKey;
  /** The previous secret, while it is valid. */
  readonly previous?: SigningKey | undefined;
}

export type SigningKey = KeyObject;

/** The key is the UTF-8 bytes of the whole secret, `whsec_` included. */
export const signingKeyOf = (secret: string): SigningKey => createSecretKey(secret, 'utf8');

/** `sha256=<hex>`. @param key or the secret itself */
export const signatureOf = (key: SigningKey | string, body: Uint8Array): string =>
  `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

const MAX_SIGNING_KEYS = 2_000;

/** Caches opened secrets as key objects. A secret whose data key is destroyed is no longer returned. */
export class SigningKeys {
  readonly #keys: KeyRing;
  readonly #opened = new Map<string, SigningKey>();

  constructor(keys: KeyRing) {
    this.#keys = keys;
  }

  /** A cached key whose data key is loaded and not destroyed. */
  known(sealed: string): SigningKey | undefined {
    const known = this.#opened.get(sealed);
    return known !== undefined && this.#keys.opens(sealed) ? known : undefined;
  }

  /** Undefined when the data key is destroyed. @param sealed the secret */
  async of(sealed: string): Promise<SigningKey | undefined> {
    const known = this.known(sealed);
    if (known !== undefined) return known;
    this.#opened.delete(sealed);
    const secret = await this.#keys.open(sealed);
    if (secret === undefined) return undefined;
    const key = signingKeyOf(secret);
    this.#opened.set(sealed, key);
    evictOldest(this.#opened, MAX_SIGNING_KEYS);
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
