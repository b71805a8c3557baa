import { createHmac, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** A webhook receiver written from the specification alone. */

export const envelope = z.strictObject({
  id: z.string(),
  event: z.string(),
  occurred_at: z.string().regex(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
  tenant_id: z.string(),
  data: z.record(z.string(), z.unknown()),
});
export type Envelope = z.output<typeof envelope>;

export interface Received {
  readonly path: string;
  readonly method: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
  readonly envelope: Envelope;
  /** Time of arrival (ms). */
  readonly at: number;
}

/** Returns the status to answer, or answers by itself. */
export type Behaviour = (received: Received, response: ServerResponse) => number | undefined;

export interface Receiver {
  readonly url: string;
  readonly received: Received[];
  behave(behaviour: Behaviour): void;
  /** Deliveries to one path; the path of {@link url} is `/hook`. */
  at(path: string): Received[];
  close(): Promise<void>;
}

/** Leaves calls from now on without an answer. @returns the answers that are open */
export const holdAnswers = (receiver: Receiver): ServerResponse[] => {
  const held: ServerResponse[] = [];
  receiver.behave((_one, response) => {
    held.push(response);
    return undefined;
  });
  return held;
};

const receivers: Receiver[] = [];
export const closeReceivers = async (): Promise<void> => {
  await Promise.all(receivers.splice(0).map((each) => each.close()));
};

export interface ReceiverOptions {
  /** Serves https with this certificate. */
  readonly certificate?: { readonly key: string; readonly cert: string };
  readonly port?: number;
  /** Host of the URL; must resolve to 127.0.0.1. */
  readonly host?: string;
}

export const startReceiver = async (
  first: Behaviour = () => 204,
  { certificate, port: wanted = 0, host = '127.0.0.1' }: ReceiverOptions = {},
): Promise<Receiver> => {
  let behaviour = first;
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const one: Received = {
        path: request.url ?? '',
        method: request.method ?? '',
        headers: request.headers,
        body,
        envelope: envelope.parse(JSON.parse(body.toString('utf8'))),
        at: Date.now(),
      };
      received.push(one);
      const status = behaviour(one, response);
      if (status !== undefined) response.writeHead(status).end();
    });
  };
  const server =
    certificate === undefined ? createServer(listener) : createSecureServer(certificate, listener);
  await new Promise<void>((resolve) => server.listen(wanted, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `${certificate === undefined ? 'http' : 'https'}://${host}:${port}/hook`,
    received,
    behave: (next) => {
      behaviour = next;
    },
    at: (path) => received.filter((one) => one.path === path),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  receivers.push(receiver);
  return receiver;
};

/** Verifies by the specification: HMAC-SHA256 of the raw bytes, compared in constant time. */
export const verifies = (
  { headers, body }: Received,
  secret: string,
  name = 'x-service-signature',
): boolean => {
  const given = headers[name];
  if (typeof given !== 'string' || !given.startsWith('sha256=')) return false;
  const wanted = createHmac('sha256', secret).update(body).digest();
  const sent = Buffer.from(given.slice('sha256='.length), 'hex');
  return sent.length === wanted.length && timingSafeEqual(sent, wanted);
};
