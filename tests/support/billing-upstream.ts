import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A partner's billing system with one document per key and injected faults. */

/** `accept and drop`: stores the document and breaks the connection. `hang`: never answers. */
export type Fault =
  | 'none'
  | 'accept and drop'
  | 'drop'
  | 'hang'
  | 'accept and hang'
  | 'drip'
  | { readonly status: number; readonly body?: string; readonly accepts?: boolean };

export interface UpstreamCall {
  readonly method: string;
  readonly key: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

export const startUpstream = async () => {
  const documents = new Map<string, { reference: string; body: string }>();
  const calls: UpstreamCall[] = [];
  const hanging = new Set<ServerResponse>();
  let faults: Fault[] = [];
  const faultsOf = new Map<string, Fault[]>();
  let always: Fault | undefined;
  let onCall: (call: UpstreamCall) => void = () => undefined;

  const keep = (key: string, body: string): string => {
    const present = documents.get(key);
    if (present !== undefined && present.body !== body) throw new Error(`two documents for ${key}`);
    const reference = present?.reference ?? `up-${documents.size + 1}`;
    documents.set(key, { reference, body });
    return reference;
  };
  const json = (response: ServerResponse, status: number, body: unknown): void => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  };

  const post = (request: IncomingMessage, response: ServerResponse, key: string, body: string): void => {
    const fault = (faultsOf.get(key) ?? faults).shift() ?? always ?? 'none';
    if (typeof fault === 'object') {
      if (fault.accepts === true) keep(key, body);
      response.writeHead(fault.status, { 'content-type': 'application/json', location: '/elsewhere' });
      response.end(fault.body ?? '{}');
      return;
    }
    switch (fault) {
      case 'none':
        json(response, 201, { reference: keep(key, body) });
        return;
      case 'accept and drop':
        keep(key, body);
        request.socket.destroy();
        return;
      case 'drop':
        request.socket.destroy();
        return;
      case 'accept and hang':
        keep(key, body);
        hanging.add(response);
        return;
      case 'hang':
        hanging.add(response);
        return;
      case 'drip': {
        response.writeHead(200, { 'content-type': 'application/json' });
        const dripping = setInterval(() => response.write(' '), 20);
        response.once('close', () => clearInterval(dripping));
        return;
      }
      default:
        fault satisfies never;
    }
  };

  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('error', () => undefined);
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const header = request.headers['idempotency-key'];
      const key = typeof header === 'string' ? header : undefined;
      const call = { method: request.method ?? '', key, authorization: request.headers.authorization, body };
      calls.push(call);
      onCall(call);
      if (request.method === 'POST') {
        post(request, response, key ?? '', body);
        return;
      }
      const asked = new URL(request.url ?? '', 'http://upstream').searchParams.get('key');
      const found = documents.get(asked ?? '');
      json(
        response,
        found === undefined ? 404 : 200,
        found === undefined ? {} : { reference: found.reference },
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/invoices?of=tests`,
    documents,
    calls,
    /** Sets the faults of the next posts, in order. */
    fail: (...next: readonly Fault[]): void => {
      faults = [...next];
    },
    /** Sets the faults of the next posts with a key, in order; they have no others. */
    failFor: (key: string, ...next: readonly Fault[]): void => {
      faultsOf.set(key, [...next]);
    },
    /** Sets the fault of every post that has none from `fail`. */
    failAlways: (fault: Fault | undefined): void => {
      always = fault;
    },
    onCall: (told: (call: UpstreamCall) => void): void => {
      onCall = told;
    },
    end: async (): Promise<void> => {
      for (const response of hanging) response.destroy();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

export type TestUpstream = Awaited<ReturnType<typeof startUpstream>>;
