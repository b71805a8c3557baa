import { createHmac } from 'node:crypto';

/** What a receiver is told beside the body (specification, Webhook events, Headers). */
export interface Signed {
  readonly event: string;
  readonly deliveryId: string;
  readonly attempt: number;
  readonly body: Uint8Array;
  /** ms */
  readonly now: number;
  readonly secret: string;
  /** Of the rotation before, while it still verifies. */
  readonly previous?: string | undefined;
}

/** `sha256=<hex>`; the key is the UTF-8 bytes of the whole secret, `whsec_` included. */
export const signatureOf = (secret: string, body: Uint8Array): string =>
  `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`;

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
