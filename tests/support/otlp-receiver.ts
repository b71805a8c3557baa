import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

/** A receiver of traces: OTLP over HTTP with JSON (OpenTelemetry Protocol 1). */

const value = z.looseObject({ stringValue: z.string().optional() });
const attribute = z.object({ key: z.string(), value });
const span = z.looseObject({
  traceId: z.string().regex(/^[0-9a-f]{32}$/),
  spanId: z.string().regex(/^[0-9a-f]{16}$/),
  parentSpanId: z.string().optional(),
  name: z.string(),
  kind: z.number(),
  attributes: z.array(attribute),
  status: z.looseObject({ code: z.number().optional() }).optional(),
});
export type ReceivedSpan = z.output<typeof span>;
const request = z.object({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes: z.array(attribute) }),
      scopeSpans: z.array(z.looseObject({ spans: z.array(span) })),
    }),
  ),
});

export interface OtlpReceiver {
  readonly url: string;
  readonly spans: readonly ReceivedSpan[];
  /** Bodies of the requests to `/v1/traces`. */
  readonly texts: readonly string[];
  readonly headers: readonly IncomingHttpHeaders[];
  /** Attributes of the service. */
  readonly resource: ReadonlyMap<string, string | undefined>;
  close(): Promise<void>;
}

export const startOtlpReceiver = async (): Promise<OtlpReceiver> => {
  const spans: ReceivedSpan[] = [];
  const texts: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const resource = new Map<string, string | undefined>();
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    if (incoming.url !== '/v1/traces') return void response.writeHead(404).end();
    texts.push(text);
    headers.push(incoming.headers);
    for (const { resource: own, scopeSpans } of request.parse(JSON.parse(text)).resourceSpans) {
      for (const { key, value } of own.attributes) resource.set(key, value.stringValue);
      spans.push(...scopeSpans.flatMap((scope) => scope.spans));
    }
    response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    ...{ url: `http://127.0.0.1:${port}`, spans, texts, headers, resource },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
};
