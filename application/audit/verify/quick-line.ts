import { HashInput } from './hash-input.ts';
import { bytesOf, digitsEnd, plainEnd, startsWith } from './line-bytes.ts';
import { followBoth } from './views.ts';

/**
 * One line of an export as the server writes it, read in its bytes: nothing is parsed, copied or searched for that a
 * comparison tells, which takes three fifths of the time (line.ts). Wherever this says undefined, the line is read as text.
 */

/** An event whose line, views and hash are good. */
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
const HEX = 64;

const input = new HashInput();

/** With the instant, and what is after it up to the next name. */
const OCCURRED_LENGTH = OCCURRED.length + '2026-01-01T00:00:00.000Z","'.length;

interface Hashes {
  /** Of the first `"hash":"` and of the value of the first `"prev_hash":"`; -1 for none. */
  readonly hashAt: number;
  readonly previousAt: number;
}

/** In the metadata that begins at `at`: at their places where it has the form of most, which is seen faster than searched. */
const hashesIn = (line: Buffer, at: number): Hashes => {
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
  if (isPlain) return { hashAt, previousAt: previousAt - 1 + PREVIOUS.length };
  const found = line.indexOf(PREVIOUS, at);
  return { hashAt: line.indexOf(HASH, at), previousAt: found < 0 ? -1 : found + PREVIOUS.length };
};

/**
 * @param line in UTF-8 without a fault
 * @returns undefined for whatever is not exactly as the server writes most lines: it has to be read as JSON
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

  const { hashAt, previousAt } = hashesIn(line, metadata.from);
  const statedAt = hashAt + HASH.length;
  const statedEnd = statedAt + HEX;
  if (hashAt < 0 || previousAt < 0 || previousAt + HEX > metadata.to) return undefined;
  // Cut out from anywhere else it would leave the same rest: bytes could be moved, and the hash would still fit.
  if (!startsWith(line, hashAt - 2, BEFORE_HASH)) return undefined;
  if (!startsWith(line, statedEnd, OCCURRED) && !startsWith(line, statedEnd, IMPERSONATED)) return undefined;
  input.line();
  input.many(line, metadata.from, hashAt);
  input.many(line, statedEnd + 2, metadata.to);
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
