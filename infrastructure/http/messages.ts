/** Headers of calls, and the parts of answers that are kept. */

/** Headers that callers cannot set: the connection sets those that a call needs. */
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

/** Alternating names and values, undici's native form. */
export const sentHeaders = (headers: Readonly<Record<string, string>>): string[] => {
  const sent: string[] = [];
  for (const name in headers) {
    const value = headers[name];
    if (value !== undefined && !CONNECTION_HEADERS.has(name.toLowerCase())) sent.push(name, value);
  }
  return sent;
};

export const keptHeaders = (
  headers: Readonly<Record<string, string | string[] | undefined>>,
): Record<string, string> => {
  const kept: Record<string, string> = {};
  for (const name of KEPT_HEADERS) {
    const found = headers[name];
    if (found === undefined) continue;
    kept[name] = (typeof found === 'string' ? found : found.join(', ')).slice(0, MAX_HEADER);
  }
  return kept;
};
