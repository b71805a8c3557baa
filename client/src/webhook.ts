/** The body of a delivery. */
export interface WebhookEvent {
  /** The same at every attempt and replay. */
  readonly id: string;
  readonly event: string;
  readonly occurred_at: string;
  readonly tenant_id: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** The delivery lacks a header or a valid signature, or its timestamp is too far from the current time. */
export class WebhookError extends Error {
  override readonly name = 'WebhookError';
}

/** Headers of the Fetch API, or Node's `request.headers`. */
export type WebhookHeaders =
  | Pick<Headers, 'get'>
  | Readonly<Record<string, string | readonly string[] | undefined>>;

export interface VerifyOptions {
  /** Maximum difference between the clocks; default 300. */
  readonly toleranceSeconds?: number;
  /** Current time (ms since 1970); default: now. */
  readonly now?: number;
}

/** Maximum of signatures that are checked; during a rotation of the secret a delivery has two. */
const MAX_SIGNATURES = 8;

/**
 * Verifies a delivery by the headers of Standard Webhooks.
 * @param body the raw bytes or text of the request, before any parsing
 * @param secret `whsec_…` of the subscription
 * @throws {WebhookError}, or a TypeError if `secret` is no webhook secret
 */
export const verifyWebhook = async (
  headers: WebhookHeaders,
  body: string | Uint8Array | ArrayBuffer,
  secret: string,
  { toleranceSeconds = 300, now = Date.now() }: VerifyOptions = {},
): Promise<WebhookEvent> => {
  const [id, timestamp, signatures] = ['id', 'timestamp', 'signature'].map((name) =>
    headerOf(headers, `webhook-${name}`),
  );
  if (id === undefined || timestamp === undefined || signatures === undefined) {
    throw new WebhookError('A header is missing.');
  }
  if (!/^\d{1,12}$/.test(timestamp) || Math.abs(now / 1000 - Number(timestamp)) > toleranceSeconds) {
    throw new WebhookError('The timestamp is too far from the present time.');
  }
  const bytes = typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = await new Blob([`${id}.${timestamp}.`, bytes]).arrayBuffer();
  const raw = bytesOf(secret.replace(/^whsec_/, ''));
  if (raw === undefined || raw.length === 0) throw new TypeError('This is not a webhook secret.');
  const hmac = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', raw, hmac, false, ['verify']);
  for (const each of signatures.split(' ').slice(0, MAX_SIGNATURES)) {
    const signature = each.startsWith('v1,') ? bytesOf(each.slice('v1,'.length)) : undefined;
    // Compares in constant time.
    if (signature !== undefined && (await crypto.subtle.verify('HMAC', key, signature, signed))) {
      return JSON.parse(new TextDecoder().decode(bytes));
    }
  }
  throw new WebhookError('No signature fits.');
};

const headerOf = (headers: WebhookHeaders, name: string): string | undefined => {
  if (isFetchHeaders(headers)) return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return typeof found === 'string' ? found : undefined;
};

const isFetchHeaders = (headers: WebhookHeaders): headers is Pick<Headers, 'get'> =>
  typeof headers.get === 'function';

/** Decodes base64 or base64url; undefined for another text. */
const bytesOf = (text: string): Uint8Array<ArrayBuffer> | undefined => {
  try {
    return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) =>
      char.charCodeAt(0),
    );
  } catch {
    return undefined;
  }
};
