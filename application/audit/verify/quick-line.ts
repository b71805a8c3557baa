import { hash } from 'node:crypto';
import { isStrictView } from './strict-json.ts';
import { bytesOf, followBoth, startsWith } from './views.ts';

/**
 * Reads lines of the usual form by comparing bytes, which is faster than parsing. Lines of another form are left to
 * line.ts.
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

/** A JSON string of ASCII without escapes. */
const TEXT = '"([ !#-\\[\\]-~]+)"';
const HEAD = new RegExp(
  `^\\{"position":${TEXT},"stream":${TEXT},"revision":(0|[1-9]\\d{0,14}),"id":${TEXT},"type":${TEXT},"data":\\{$`,
);
const DATA = bytesOf(',"data":{');
const BEFORE_HASH = bytesOf('},');
const HASH = bytesOf('"hash":"');
const AFTER_HASH = [bytesOf('","occurred_at":"'), bytesOf('","impersonated_by":"')];
const PREVIOUS = bytesOf('"prev_hash":"');
const HEX = 64;

/**
 * @param line valid UTF-8
 * @returns undefined for a line of another form, which must be parsed as JSON
 */
export const goodEventOf = (line: Buffer): GoodEvent | undefined => {
  const dataAt = line.indexOf(DATA) + DATA.length;
  const head = HEAD.exec(line.toString('latin1', 0, dataAt));
  if (head === null) return undefined;
  const [, position = '', stream = '', revision = '', id, type] = head;
  const followed = followBoth(line, dataAt - 1);
  if (followed === undefined) return undefined;
  const { data, from, to } = followed;
  if (!isStrictView(line.toString('utf8', from, to))) return undefined;
  const hashAt = line.indexOf(HASH, from);
  const statedAt = hashAt + HASH.length;
  const statedEnd = statedAt + HEX;
  const found = line.indexOf(PREVIOUS, from);
  const previousAt = found + PREVIOUS.length;
  if (hashAt < 0 || found < 0 || previousAt + HEX > to) return undefined;
  // The hash must be at its fixed place; otherwise bytes around it could be moved without changing the hash.
  if (!startsWith(line, hashAt - 2, BEFORE_HASH)) return undefined;
  if (!AFTER_HASH.some((text) => startsWith(line, statedEnd, text))) return undefined;
  const previous = line.toString('latin1', previousAt, previousAt + HEX);
  const digest = hash(
    'sha256',
    Buffer.concat([
      Buffer.from([previous, stream, revision, id, type, ''].join('\n'), 'latin1'),
      ...data,
      LINE_FEED,
      line.subarray(from, hashAt),
      line.subarray(statedEnd + 2, to),
    ]),
    'hex',
  );
  if (digest !== line.toString('latin1', statedAt, statedEnd)) return undefined;
  return { position, stream, revision: Number(revision), hash: digest, previous };
};

const LINE_FEED = bytesOf('\n');
