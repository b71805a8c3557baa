import { isUtf8 } from 'node:buffer';
import { createReadStream, existsSync, readFileSync } from 'node:fs';
import { Faulty, type Verdict } from '../../application/audit/verify/fault.ts';
import {
  type GivenHead,
  headsOf,
  orderedHeads,
  proofOf,
  publicKeyOf,
} from '../../application/audit/verify/heads.ts';
import { Verifier } from '../../application/audit/verify/verifier.ts';

/** Checks an export of a tenant's events without a server: reads its files and passes them to the verifier. */

/** The check was impossible: options are invalid, or a file cannot be read. */
export class Misuse extends Error {}

const CHUNK = 1 << 20;
/** Maximum bytes of a line; a longer one counts as unreadable (docs/audit-format.md). */
const LONGEST_LINE = 64 << 20;
const INSTANT = /^((?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?)(?:Z|[+-]\d\d:\d\d)$/;
const LINE_FEED = 0x0a;

/** Stricter than `Date.parse`, which accepts 30 February as 2 March, and hour 24 as the next day. */
const isInstant = (text: string): boolean => {
  const [, withoutOffset = ''] = INSTANT.exec(text) ?? [];
  const utc = Date.parse(`${withoutOffset}Z`);
  const isDate = !Number.isNaN(utc) && new Date(utc).toISOString().startsWith(withoutOffset);
  return isDate && !Number.isNaN(Date.parse(text));
};

/** Reads line by line; memory holds a few MiB, or the longest line. @throws {Faulty} */
const readExport = async (source: AsyncIterable<Buffer>, verifier: Verifier): Promise<void> => {
  let rest: Buffer[] = [];
  let waiting = 0;
  for await (const chunk of source) {
    const last = chunk.lastIndexOf(LINE_FEED);
    if (last < 0) {
      rest.push(chunk);
      waiting += chunk.length;
      if (waiting > LONGEST_LINE) verifier.take(undefined);
      continue;
    }
    const first = rest.length > 0 ? chunk.indexOf(LINE_FEED) + 1 : 0;
    if (first > 0) takeLines(Buffer.concat([...rest, chunk.subarray(0, first)]), verifier);
    takeLines(chunk.subarray(first, last + 1), verifier);
    // A copy, because a view would keep the whole chunk in memory.
    rest = last + 1 < chunk.length ? [Buffer.from(chunk.subarray(last + 1))] : [];
    waiting = chunk.length - last - 1;
  }
  verifier.takeRest(Buffer.concat(rest).toString('utf8'));
};

/** Refuses invalid UTF-8: a lenient decoder could turn changed bytes into the same text as the stored bytes. */
const takeLines = (lines: Buffer, verifier: Verifier): void => {
  const isText = isUtf8(lines);
  for (let from = 0; from < lines.length; ) {
    const end = lines.indexOf(LINE_FEED, from);
    const line = lines.subarray(from, end);
    const isLine = line.length <= LONGEST_LINE && (isText || isUtf8(line));
    verifier.take(isLine ? line : undefined);
    from = end + 1;
  }
};

const read = (name: string, path: string): string => {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new Misuse(`The file of --${name} cannot be read.`);
  }
};

export interface VerifyOptions {
  /** A file; `-` is standard input. */
  readonly export: string;
  readonly proof?: string | undefined;
  readonly heads?: string | undefined;
  readonly 'public-key'?: string | undefined;
  readonly 'not-before'?: string | undefined;
  readonly strict: boolean;
}

const headsFrom = (options: VerifyOptions): GivenHead[] => {
  const { proof, heads, 'public-key': given, 'not-before': notBefore } = options;
  if (notBefore !== undefined && !isInstant(notBefore)) {
    throw new Misuse('--not-before must be a time such as 2026-01-31T00:00:00Z.');
  }
  if (proof === undefined && heads === undefined) {
    if (notBefore === undefined) return [];
    throw new Misuse('--not-before needs a head: --proof or --heads.');
  }
  if (given === undefined)
    throw new Misuse('--public-key is needed: without it the signature of a head cannot be checked.');
  const key = (() => {
    try {
      return publicKeyOf(existsSync(given) ? readFileSync(given, 'utf8') : given);
    } catch {
      throw new Misuse(
        '--public-key must be an Ed25519 public key: base64 of its DER form, or a file in PEM.',
      );
    }
  })();
  const others = heads === undefined ? [] : headsOf(read('heads', heads));
  if (heads !== undefined && others.length === 0) throw new Misuse('The file of --heads holds no head.');
  return orderedHeads(
    proof === undefined ? undefined : proofOf(read('proof', proof)),
    others,
    key,
    notBefore,
  );
};

/** Opens the file only at the first read: an error of a file opened earlier would be uncaught and end the process. */
const exportOf = async function* ({ export: path }: VerifyOptions): AsyncGenerator<Buffer> {
  yield* path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK });
};

/**
 * Reads line by line. Memory use grows with the number of streams, not with the number of events.
 * @param source the export; by default the file or standard input that the options name
 * @throws {Misuse}
 */
export const verifyExport = async (
  options: VerifyOptions,
  source: AsyncIterable<Buffer> = exportOf(options),
): Promise<Verdict> => {
  let verifier = new Verifier([]);
  try {
    verifier = new Verifier(headsFrom(options), options);
    await readExport(source, verifier);
    return verifier.end();
  } catch (error) {
    if (error instanceof Faulty) return verifier.verdict(error.fault);
    if (error instanceof Misuse) throw error;
    throw new Misuse(`The export cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
};
