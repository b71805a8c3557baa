import { HashInput } from './hash-input.ts';
import { bytesOf, digitsEnd, plainEnd, startsWith } from './line-bytes.ts';
import { isStrictView } from './strict-json.ts';
import { followBoth } from './views.ts';

/**
 * Reads lines of the usual form by comparing bytes, which is faster than parsing. Undefined leaves a line to line.ts.
 */

/** An event whose line, views and hash are valid. */
export interface GoodEvent {
  readonly position: string;
  readonly stream: string;
  readonly revision: number;
  readonly hash: string;
  /** `prev_hash` */
  readonly previous: string;
}

const POSITION = bytesOf('{"position":"');
const STREAM = bytesOf('","stream":"');
const REVISION = bytesOf('","revision":');
const ID = bytesOf(',"id":"');
const TYPE = bytesOf('","type":"');
const DATA = bytesOf('","data":{');

const CAUSATION = bytesOf('{"$causationId":"');
const CORRELATION = bytesOf('","$correlationId":"');
const ACTOR = bytesOf('","actor":{"id":"');
const KIND = bytesOf('","kind":"');
const AFTER_ACTOR = bytesOf('"},');
const BEFORE_HASH = bytesOf('},');
const HASH = bytesOf('"hash":"');
const OCCURRED = bytesOf('","occurred_at":"');
const IMPERSONATED = bytesOf('","impersonated_by":"');
const PREVIOUS = bytesOf('"prev_hash":"');
const SCHEMA_VERSION = bytesOf('","schema_version":');
const TENANT = bytesOf(',"tenant_id":"');
const END = bytesOf('"}');
const HEX = 64;

const input = new HashInput();

/** With the instant and the start of the next member. */
const OCCURRED_LENGTH = OCCURRED.length + '2026-01-01T00:00:00.000Z","'.length;

interface Hashes {
  /** Places of the first `"hash":"` and of the value of the first `"prev_hash":"`; -1 for none. */
  readonly hashAt: number;
  readonly previousAt: number;
}

const NONE: Hashes = { hashAt: -1, previousAt: -1 };

/** Compares metadata of the usual form without parsing; undefined for other forms. */
const plainHashesIn = (line: Buffer, at: number, to: number): Hashes | undefined => {
  let end = startsWith(line, at, CAUSATION) ? plainEnd(line, at + CAUSATION.length) : -1;
  for (const next of [CORRELATION, ACTOR, KIND]) {
    if (end >= 0) end = startsWith(line, end, next) ? plainEnd(line, end + next.length) : -1;
  }
  const hashAt = end + AFTER_ACTOR.length;
  const occurredAt = hashAt + HASH.length + HEX;
  const previousAt = occurredAt + OCCURRED_LENGTH;
  const isPlain =
    end >= 0 &&
    startsWith(line, end, AFTER_ACTOR) &&
    startsWith(line, hashAt, HASH) &&
    startsWith(line, occurredAt, OCCURRED) &&
    plainEnd(line, occurredAt + OCCURRED.length) === previousAt - 3 &&
    startsWith(line, previousAt - 1, PREVIOUS);
  if (!isPlain) return undefined;
  const valueAt = previousAt - 1 + PREVIOUS.length;
  const versionAt = valueAt + HEX;
  if (plainEnd(line, valueAt) !== versionAt || !startsWith(line, versionAt, SCHEMA_VERSION)) return undefined;
  const versionEnd = digitsEnd(line, versionAt + SCHEMA_VERSION.length);
  if (versionEnd < 0 || !startsWith(line, versionEnd, TENANT)) return undefined;
  const tenantEnd = plainEnd(line, versionEnd + TENANT.length);
  if (tenantEnd + END.length !== to || !startsWith(line, tenantEnd, END)) return undefined;
  return { hashAt, previousAt: valueAt };
};

/** Searches metadata of any form; undefined for text that is not strict JSON. */
const hashesIn = (line: Buffer, at: number, to: number): Hashes | undefined => {
  if (!isStrictView(line.toString('utf8', at, to))) return undefined;
  const found = line.indexOf(PREVIOUS, at);
  return { hashAt: line.indexOf(HASH, at), previousAt: found < 0 ? -1 : found + PREVIOUS.length };
};

/**
 * @param line valid UTF-8
 * @returns undefined for a line of another form, which must be parsed as JSON
 */
export const goodEventOf = (line: Buffer): GoodEvent | undefined => {
  if (!startsWith(line, 0, POSITION)) return undefined;
  const positionEnd = plainEnd(line, POSITION.length);
  if (positionEnd < 0 || !startsWith(line, positionEnd, STREAM)) return undefined;
  const streamAt = positionEnd + STREAM.length;
  const streamEnd = plainEnd(line, streamAt);
  if (streamEnd < 0 || !startsWith(line, streamEnd, REVISION)) return undefined;
  const revisionAt = streamEnd + REVISION.length;
  const revisionEnd = digitsEnd(line, revisionAt);
  if (revisionEnd < 0 || !startsWith(line, revisionEnd, ID)) return undefined;
  const idAt = revisionEnd + ID.length;
  const idEnd = plainEnd(line, idAt);
  if (idEnd < 0 || !startsWith(line, idEnd, TYPE)) return undefined;
  const typeAt = idEnd + TYPE.length;
  const typeEnd = plainEnd(line, typeAt);
  if (typeEnd < 0 || !startsWith(line, typeEnd, DATA)) return undefined;
  input.begin(line.length);
  for (const [from, to] of [
    [streamAt, streamEnd],
    [revisionAt, revisionEnd],
    [idAt, idEnd],
    [typeAt, typeEnd],
  ] as const) {
    input.line();
    input.few(line, from, to);
  }
  const metadata = followBoth(line, typeEnd + DATA.length - 1, input);
  if (metadata === undefined) return undefined;
  const { from, to } = metadata;
  const { hashAt, previousAt } = plainHashesIn(line, from, to) ?? hashesIn(line, from, to) ?? NONE;
  const statedAt = hashAt + HASH.length;
  const statedEnd = statedAt + HEX;
  if (hashAt < 0 || previousAt < 0 || previousAt + HEX > to) return undefined;
  // The hash must stand at its place: cut from another place, bytes could be moved under an unchanged hash.
  if (!startsWith(line, hashAt - 2, BEFORE_HASH)) return undefined;
  if (!startsWith(line, statedEnd, OCCURRED) && !startsWith(line, statedEnd, IMPERSONATED)) return undefined;
  input.line();
  input.many(line, from, hashAt);
  input.many(line, statedEnd + 2, to);
  const digest = input.digest(line, previousAt);
  if (digest !== line.toString('latin1', statedAt, statedEnd)) return undefined;
  return {
    position: line.toString('latin1', POSITION.length, positionEnd),
    stream: line.toString('latin1', streamAt, streamEnd),
    revision: Number(line.toString('latin1', revisionAt, revisionEnd)),
    hash: digest,
    previous: line.toString('latin1', previousAt, previousAt + HEX),
  };
};
