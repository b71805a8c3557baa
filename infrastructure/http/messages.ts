import type { Readable } from 'node:stream';

/** What goes out with a call, and what is kept of an answer. */

/** Set by the connection, not by a caller: they say where a message ends and whose it is. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
]);

const KEPT_HEADERS = [
  'cache-control',
  'content-encoding',
  'content-type',
  'date',
  'etag',
  'retry-after',
  'www-authenticate',
] as const;
const MAX_HEADER = 1_000;

export const sentHeaders = (headers: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !CONNECTION_HEADERS.has(name.toLowerCase())));

export const keptHeaders = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const found = headers[name];
    if (found !== undefined) kept[name] = [found].flat().join(', ').slice(0, MAX_HEADER);
  }
  return kept;
};

/**
 * Reads a body as it comes, and no more of it than `max` bytes.
 * @throws the signal's reason; a body that breaks off is cut there
 */
export const limitedBody = async (
  body: Readable,
  max: number,
  signal: AbortSignal,
): Promise<{ readonly body: Buffer; readonly truncated: boolean }> => {
  // After the last byte that is wanted nobody waits for what becomes of the rest.
  body.on('error', () => undefined);
  const chunks: Buffer[] = [];
  let room = max;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      chunks.push(chunk.subarray(0, room));
      if (chunk.length > room) return { body: Buffer.concat(chunks), truncated: true };
      room -= chunk.length;
    }
  } catch {
    signal.throwIfAborted();
    return { body: Buffer.concat(chunks), truncated: true };
  }
  return { body: Buffer.concat(chunks), truncated: false };
};
