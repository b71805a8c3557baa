import type { IncomingMessage } from 'node:http';
import type { Slice } from '../../application/core/concurrency/time-slices.ts';
import { clearTimeout, setTimeout } from '../../application/core/runtime/timers.ts';
import { DomainError, invalid } from '../../domain/core/errors.ts';
import { chunkCheck, readInSlices } from './body-slices.ts';
import { inexact, mayRound, requireExactNumbers } from './exact-numbers.ts';
import { parseForm } from './form-body.ts';
import { LongLists } from './long-lists.ts';
import { type BodyKind, bodyKindOf } from './media-types.ts';

/**
 * Reads JSON bodies, and forms where a route accepts them. Used instead of `express.json()`, which is slower, silently
 * replaces invalid UTF-8, and checks the type before the size.
 */

/** Maximum nesting, checked before parsing: deep bodies are slow to parse, and overflow the stack of recursive code. */
const MAX_DEPTH = 100;
/** A JSON body of more bytes is parsed in slices. */
const LARGE = 256 * 1024;
/** Chunks that are joined at a time: a chunk of one byte takes hundreds of bytes of memory. */
const JOINED = 1024;
/** Steps of the scan between two pauses; a step is a text, a number, or any other character. */
const STEPS = 16_384;
/** Maximum number of values in a body, since a value costs far more memory than its bytes. */
export const DEFAULT_VALUE_LIMIT = 100_000;
/** Maximum number of members of all objects: parsing a new name takes far longer than an element of a list. */
const MEMBER_LIMIT = 20_000;

export interface BodyRules {
  /** Maximum bytes. */
  readonly limit: number;
  readonly valueLimit: number;
  readonly kinds: readonly BodyKind[];
  /** Whether a body that arrives too slowly is refused, since the request holds a slot meanwhile. */
  readonly isTimed: boolean;
}

export type JsonBody = Readonly<Record<string, unknown>>;

const utf8 = new TextDecoder('utf-8', { fatal: true });

const tooLarge = (limit: number): DomainError =>
  new DomainError('payload_too_large', `The body is larger than ${limit} bytes.`, { limit });

const malformed = (message: string): DomainError => new DomainError('malformed_json', message);

/**
 * Checks nesting and numbers of values and members in the text, before a parser creates values. Yields where a pause is possible.
 * @returns whether a number may become an integer only by rounding
 * @throws {DomainError} 400
 */
function* shapeChecks(text: string, valueLimit: number, lists?: LongLists): Generator<void, boolean> {
  let depth = 0;
  let steps = 0;
  let values = 1;
  let members = 0;
  let isInexact = false;
  for (let at = 0; at < text.length; at += 1) {
    steps += 1;
    if (steps % STEPS === 0) yield;
    const unit = text.charCodeAt(at);
    if (unit === 0x22) at = endOfText(text, at);
    else if (unit === 0x7b || unit === 0x5b) {
      depth += 1;
      if (depth > MAX_DEPTH) throw malformed(`The body is nested deeper than ${MAX_DEPTH} levels.`);
      lists?.opened(at, unit === 0x5b);
    } else if (unit === 0x7d || unit === 0x5d) {
      depth -= 1;
      lists?.closed(at, unit === 0x5d);
    } else if (unit === 0x2c) {
      values += 1;
      lists?.comma(at);
      if (values > valueLimit) throw tooMany('values', valueLimit);
    } else if (unit === 0x3a) {
      members += 1;
      if (members > MEMBER_LIMIT) throw tooMany('members of objects', MEMBER_LIMIT);
    } else if (isDigit(unit)) {
      const begin = at;
      while (isOfNumber(text.charCodeAt(at + 1))) at += 1;
      isInexact ||= mayRound(text.slice(begin, at + 1));
    }
  }
  return isInexact;
}

const checkShape = (text: string, valueLimit: number): boolean => {
  const checks = shapeChecks(text, valueLimit);
  for (;;) {
    const { done, value } = checks.next();
    if (done === true) return value;
  }
};

/** Index of a text's closing quote; the index after the last character if there is none. */
const endOfText = (text: string, open: number): number => {
  for (let end = text.indexOf('"', open + 1); end >= 0; end = text.indexOf('"', end + 1)) {
    let before = end;
    while (text.charCodeAt(before - 1) === 0x5c) before -= 1;
    if ((end - before) % 2 === 0) return end;
  }
  return text.length;
};

const isDigit = (unit: number): boolean => unit >= 0x30 && unit <= 0x39;

/** Digits, `.`, `e`, `E`, `+` and `-`. */
const isOfNumber = (unit: number): boolean =>
  isDigit(unit) || unit === 0x2e || unit === 0x65 || unit === 0x45 || unit === 0x2b || unit === 0x2d;

const tooMany = (what: string, limit: number): DomainError =>
  invalid([{ path: '', code: 'too_big', message: `The body has more than ${limit} ${what}.` }]);

const tooSlow = (): DomainError =>
  invalid([{ path: '', code: 'too_slow', message: 'The body did not arrive in time.' }]);

const isObject = (value: unknown): value is JsonBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const decode = (bytes: Buffer): string => {
  try {
    return utf8.decode(bytes);
  } catch {
    throw malformed('The body is not valid UTF-8.');
  }
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed('The body is not valid JSON.');
  }
};

/** Runs steps to their end, with pauses between slices. */
const inSlices = async <T>(steps: Generator<void, T>, slice: Slice): Promise<T> => {
  await slice.next();
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    if (slice.isOver) await slice.next();
  }
};

/** @throws {DomainError} 400 */
const parse = (bytes: Buffer, kind: BodyKind, valueLimit: number): JsonBody => {
  const text = decode(bytes);
  if (kind === 'form') return parseForm(text);
  // A body of n characters nests at most n levels, so a body of up to 100 characters is not scanned.
  const isInexact = text.length <= MAX_DEPTH || checkShape(text, valueLimit);
  const value = parseJson(text);
  if (isInexact) requireExactNumbers(text);
  return asObject(value);
};

/** Like {@link parse}, but scans and parses JSON in slices. */
const parseLarge = async (
  bytes: Buffer,
  kind: BodyKind,
  valueLimit: number,
  slice: Slice,
): Promise<JsonBody> => {
  await slice.next();
  if (kind === 'form') return parse(bytes, kind, valueLimit);
  const text = decode(bytes);
  const lists = new LongLists();
  const isInexact = await inSlices(shapeChecks(text, valueLimit, lists), slice);
  const value = await inSlices(lists.parse(text), slice).catch((error: unknown) => {
    throw error instanceof SyntaxError ? malformed('The body is not valid JSON.') : error;
  });
  if (isInexact) throw inexact('');
  return asObject(value);
};

const asObject = (value: unknown): JsonBody => {
  if (isObject(value)) return value;
  throw invalid([{ path: '', code: 'invalid_type', message: 'The body must be a JSON object.' }]);
};

/** Time (ms) in which a body must arrive: 10 s, and 1 s for each 128 KiB. */
const timeOf = ({ headers }: IncomingMessage, limit: number): number =>
  10_000 + Number(headers['content-length'] ?? limit) / 131;

const collect = (request: IncomingMessage, { limit, isTimed }: BodyRules, slice: Slice): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const joined: Buffer[] = [];
    let chunks: Buffer[] = [];
    let size = 0;
    let isRefused = false;
    const isTooFine = chunkCheck();
    const refuse = (error: DomainError): void => {
      isRefused = true;
      joined.length = 0;
      chunks = [];
      reject(error);
    };
    const late = isTimed ? setTimeout(() => refuse(tooSlow()), timeOf(request, limit)) : undefined;
    readInSlices(request, slice, (chunk) => {
      if (isRefused) return;
      size += chunk.length;
      if (size > limit) refuse(tooLarge(limit));
      else if (isTooFine(chunk)) refuse(malformed('The body has too many small chunks.'));
      else if (chunks.push(chunk) === JOINED) {
        joined.push(Buffer.concat(chunks));
        chunks = [];
      }
    });
    request.once('end', () => {
      const parts = [...joined, ...chunks];
      resolve(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts));
    });
    // `close` also follows `end`; without `end` the client has disconnected.
    request.once('close', () => {
      clearTimeout(late);
      if (!request.complete) reject(malformed('The request ended before its body did.'));
    });
  });

const readChunked = async (
  request: IncomingMessage,
  rules: BodyRules,
  slice: Slice,
): Promise<JsonBody | undefined> => {
  const bytes = await collect(request, rules, slice);
  await slice.begin();
  return bytes.length === 0 ? undefined : parsed(bytes, bodyKindOf(request, rules.kinds), rules, slice);
};

const parsed = (
  bytes: Buffer,
  kind: BodyKind,
  { valueLimit }: BodyRules,
  slice: Slice,
): JsonBody | Promise<JsonBody> =>
  bytes.length > LARGE ? parseLarge(bytes, kind, valueLimit, slice) : parse(bytes, kind, valueLimit);

/**
 * The body as an object; undefined when the request has no body. Order of checks: 413, 415, 400.
 * @param slice for reading and parsing the body
 * @returns without a promise when the headers show that there is no body
 */
export const readBody = (
  request: IncomingMessage,
  rules: BodyRules,
  slice: Slice,
): Promise<JsonBody | undefined> | undefined => {
  const { headers } = request;
  const { limit, kinds } = rules;
  if (headers['transfer-encoding'] !== undefined) return readChunked(request, rules, slice);
  const length = headers['content-length'];
  if (length === undefined || length === '0') return undefined;
  if (Number(length) > limit) throw tooLarge(limit);
  const kind = bodyKindOf(request, kinds);
  return collect(request, rules, slice).then((bytes) => {
    const waits = slice.begin();
    return waits === undefined
      ? parsed(bytes, kind, rules, slice)
      : waits.then(() => parsed(bytes, kind, rules, slice));
  });
};
