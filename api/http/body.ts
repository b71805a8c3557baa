import type { IncomingMessage } from 'node:http';
import { DomainError, invalid } from '../../domain/core/errors.ts';
import { requireExactNumbers } from './exact-numbers.ts';
import { parseForm } from './form-body.ts';
import { type BodyKind, bodyKindOf, JSON_ONLY } from './media-types.ts';

/**
 * Reads JSON bodies, and forms where a route accepts them. Replaces `express.json()`, which is slower, replaces
 * broken UTF-8 silently, and checks the type after the size.
 */

/** Maximum nesting, checked before parsing: deep bodies are slow to parse, and overflow recursive readers. */
const MAX_DEPTH = 100;

export type JsonBody = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

const tooLarge = (limit: number): DomainError =>
  new DomainError('payload_too_large', `The body is larger than ${limit} bytes.`, { limit });

const malformed = (message: string): DomainError => new DomainError('malformed_json', message);

const tooDeep = (text: string): boolean => {
  let depth = 0;
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i);
    if (quoted) {
      if (unit === 0x5c) i += 1;
      else if (unit === 0x22) quoted = false;
    } else if (unit === 0x22) quoted = true;
    else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      if (depth > MAX_DEPTH) return true;
    } else if (unit === 0x7d || unit === 0x5d) depth -= 1;
  }
  return false;
};

const isObject = (value: unknown): value is JsonBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** @throws {DomainError} 400 */
const parse = (bytes: Buffer, kind: BodyKind): JsonBody => {
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    throw malformed('The body is not valid UTF-8.');
  }
  if (kind === 'form') return parseForm(text);
  // A body of n characters nests at most n levels: only longer ones are scanned.
  if (text.length > MAX_DEPTH && tooDeep(text)) {
    throw malformed(`The body is nested deeper than ${MAX_DEPTH} levels.`);
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw malformed('The body is not valid JSON.');
  }
  requireExactNumbers(text);
  if (isObject(value)) return value;
  throw invalid([{ path: '', code: 'invalid_type', message: 'The body must be a JSON object.' }]);
};

const collect = (request: IncomingMessage, limit: number): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    const stop = (error: DomainError): void => {
      request.off('data', onData);
      // Discards the rest, so that the client reads the answer.
      request.resume();
      reject(error);
    };
    const onData = (chunk: Buffer): void => {
      size += chunk.length;
      if (size > limit) stop(tooLarge(limit));
      else chunks.push(chunk);
    };
    request.on('data', onData);
    request.once('end', () => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    // Also follows `end`; without `end` the client has disconnected.
    request.once('close', () => {
      if (!request.complete) reject(malformed('The request ended before its body did.'));
    });
  });

const readChunked = async (
  request: IncomingMessage,
  limit: number,
  kinds: readonly BodyKind[],
): Promise<JsonBody | undefined> => {
  const bytes = await collect(request, limit);
  return bytes.length === 0 ? undefined : parse(bytes, bodyKindOf(request, kinds));
};

/**
 * The body as an object; undefined, without a promise, when there is none. Order of checks: 413, 415, 400.
 * @param limit bytes
 * @param kinds accepted kinds of body
 */
export const readBody = (
  request: IncomingMessage,
  limit: number,
  kinds: readonly BodyKind[] = JSON_ONLY,
): Promise<JsonBody | undefined> | undefined => {
  const { headers } = request;
  if (headers['transfer-encoding'] !== undefined) return readChunked(request, limit, kinds);
  const length = headers['content-length'];
  if (length === undefined || length === '0') return undefined;
  if (Number(length) > limit) throw tooLarge(limit);
  const kind = bodyKindOf(request, kinds);
  return collect(request, limit).then((bytes) => parse(bytes, kind));
};
