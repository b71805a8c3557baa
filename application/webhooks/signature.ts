import { createHmac, createSecretKey, type KeyObject } from 'node:crypto';
import { evictOldest } from '../core/memory/evict-oldest.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import { StoreUnavailable } from '../ports/event-store.ts';

/** Data for the headers (specification, Webhook events, Headers). */
interface Signed {
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

/** The two keys that a secret stands for (decision 50). */
interface SigningKey {
  /** The UTF-8 bytes of the whole secret, `whsec_` included. */
  readonly own: KeyObject;
  /** The bytes that are encoded in base64 after `whsec_`, as Standard Webhooks reads a secret. */
  readonly standard: KeyObject;
}

export const signingKeyOf = (secret: string): SigningKey => ({
  own: createSecretKey(secret, 'utf8'),
  standard: createSecretKey(Buffer.from(secret.slice('whsec_'.length), 'base64')),
});

/** `sha256=<hex>`. @param key a key, or the secret itself */
export const signatureOf = (key: KeyObject | string, body: Uint8Array): string =>
  `sha256=${createHmac('sha256', key).update(body).digest('hex')}`;

/** `v1,<base64>` over id, timestamp and body, as Standard Webhooks defines it. */
const standardSignatureOf = ({ standard }: SigningKey, prefix: string, body: Uint8Array): string =>
  `v1,${createHmac('sha256', standard).update(prefix).update(body).digest('base64')}`;

const MAX_SIGNING_KEYS = 2_000;

/** Caches opened secrets as key objects. A secret whose data key is destroyed is no longer returned. */
export class SigningKeys extends WithDeps<{ readonly keys: KeyRing }> {
  readonly #opened = new Map<string, SigningKey>();

  /**
   * Undefined when the data key is destroyed, or was lost in a restore, even if a later rotation made another one.
   * @param sealed the sealed secret
   */
  async of(sealed: string): Promise<SigningKey | undefined> {
    const known = this.#opened.get(sealed);
    if (known !== undefined && this.deps.keys.opens(sealed)) return known;
    this.#opened.delete(sealed);
    const secret = await this.deps.keys.open(sealed).catch((error: unknown) => {
      if (error instanceof StoreUnavailable) throw error;
      return undefined;
    });
    if (secret === undefined) return undefined;
    const key = signingKeyOf(secret);
    this.#opened.set(sealed, key);
    evictOldest(this.#opened, MAX_SIGNING_KEYS);
    return key;
  }
}

/** Headers of one attempt, with signatures of the body by the secret, and by the previous secret while it is valid. */
export const headersOf = (signed: Signed): Readonly<Record<string, string>> => {
  const { deliveryId, secret, previous, body } = signed;
  const timestamp = String(Math.floor(signed.now / 1000));
  const keys = previous === undefined ? [secret] : [secret, previous];
  const prefix = `${deliveryId}.${timestamp}.`;
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Service-Webhooks/1.0',
    'X-Service-Event': signed.event,
    'X-Service-Delivery': deliveryId,
    'X-Service-Timestamp': timestamp,
    'X-Service-Signature': signatureOf(secret.own, body),
    ...(previous === undefined ? {} : { 'X-Service-Signature-Previous': signatureOf(previous.own, body) }),
    'X-Service-Attempt': String(signed.attempt),
    'webhook-id': deliveryId,
    'webhook-timestamp': timestamp,
    'webhook-signature': keys.map((key) => standardSignatureOf(key, prefix, body)).join(' '),
  };
};
