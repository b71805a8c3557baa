import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** A server of chat completions in the OpenAI protocol, which fails on request. */

export const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(z.strictObject({ role: z.enum(['system', 'user', 'assistant']), content: z.string() })),
});

export interface Asked {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: z.output<typeof chatRequest>;
}

export type UpstreamBehaviour = (asked: Asked, response: ServerResponse) => void;

export interface Upstream {
  /** Base URL; ends in `/v1`. */
  readonly url: string;
  readonly asked: Asked[];
  behave(behaviour: UpstreamBehaviour): void;
  close(): Promise<void>;
}

export const sends =
  (status: number, body: string, type = 'application/json'): UpstreamBehaviour =>
  (_asked, response) => {
    response.writeHead(status, { 'content-type': type }).end(body);
  };

export const completes = (content: string): UpstreamBehaviour =>
  sends(
    200,
    JSON.stringify({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 1,
      model: 'a-model',
      choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content } }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
    }),
  );

export const startUpstream = async (): Promise<Upstream> => {
  let behaviour: UpstreamBehaviour = completes('An answer of the language model.');
  const asked: Asked[] = [];
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on('data', (piece: Buffer) => pieces.push(piece));
    request.on('end', () => {
      const body = chatRequest.parse(JSON.parse(Buffer.concat(pieces).toString('utf8')));
      const one = { path: request.url ?? '', headers: request.headers, body };
      asked.push(one);
      behaviour(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // `listen` on a port gives an address, not a pipe's name.
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    behave: (next) => {
      behaviour = next;
    },
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
