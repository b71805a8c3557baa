import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { verifyWebhook } from '../../client/src/index.ts';

/** A local receiver of webhooks, which verifies, shows and forwards deliveries. */

export interface Delivery {
  readonly id: string;
  readonly event: string;
  readonly attempt: string;
  readonly isVerified: boolean;
  readonly body: string;
  /** Status of the answer. */
  readonly status: number;
  /** Reason why forwarding failed. */
  readonly error: string | undefined;
}

export interface Listener {
  readonly url: string;
  /** Sets the secret. Deliveries that arrive earlier wait for this call. */
  verifyBy(secret: string): void;
  close(): Promise<void>;
}

export interface ListenerOptions {
  readonly port: number;
  readonly forward: string | undefined;
  readonly onDelivery: (delivery: Delivery) => void;
}

/** Maximum bytes of a body that is read; bodies of deliveries are smaller. */
const MAX_BODY_BYTES = 8 * 1024 * 1024;
/** Less than the 10 s for which the server waits for an answer by default (`WEBHOOK_TIMEOUT_MS`). */
const FORWARD_MS = 9_500;
/** Headers that belong to a connection, not to the delivery; they are not forwarded. */
const OWN_HEADERS = new Set(['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive']);

export const startListener = async ({ port, forward, onDelivery }: ListenerOptions): Promise<Listener> => {
  const secret = Promise.withResolvers<string>();
  const receive = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(request);
    const { headers } = request;
    const isVerified = await verifyWebhook(headers, body, await secret.promise).then(
      () => true,
      () => false,
    );
    const answer = !isVerified
      ? { status: 401, text: 'The signature does not fit.', error: undefined }
      : forward === undefined
        ? { status: 204, text: '', error: undefined }
        : await forwarded(forward, request, body);
    onDelivery({
      id: String(headers['webhook-id']),
      event: String(headers['x-service-event']),
      attempt: String(headers['x-service-attempt']),
      isVerified,
      body: body.toString('utf8'),
      status: answer.status,
      error: answer.error,
    });
    response.writeHead(answer.status).end(answer.text);
  };
  const server = createServer((request, response) => {
    receive(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(port, '127.0.0.1', resolve);
  });
  const address = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${address.port}/`,
    verifyBy: secret.resolve,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new Error('The body is too long.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

/** Forwards the delivery's headers and bytes unchanged, so that the target can verify the signature too. */
const forwarded = async (url: string, { headers }: IncomingMessage, body: Buffer) => {
  const own = Object.entries(headers).flatMap(([name, value]): [string, string][] =>
    OWN_HEADERS.has(name) || typeof value !== 'string' ? [] : [[name, value]],
  );
  try {
    const signal = AbortSignal.timeout(FORWARD_MS);
    const init = { method: 'POST', headers: own, body: new Uint8Array(body), redirect: 'manual' } as const;
    const answer = await fetch(url, { ...init, signal });
    return { status: answer.status, text: await answer.text(), error: undefined };
  } catch (error) {
    const why =
      error instanceof Error ? (error.cause instanceof Error ? error.cause.message : error.message) : '';
    return { status: 502, text: `Nothing answers at ${url}.`, error: why };
  }
};

/** Lines for a terminal. */
export const describeDelivery = ({ id, event, attempt, isVerified, body, status, error }: Delivery): string =>
  [
    `${new Date().toISOString()} ${event} ${id} attempt ${attempt} → ${status}${error === undefined ? '' : ` (${error})`}`,
    isVerified ? indented(body) : '  the signature does not fit',
  ].join('\n');

const indented = (body: string): string =>
  JSON.stringify(JSON.parse(body), undefined, 2).replaceAll(/^/gm, '  ');
