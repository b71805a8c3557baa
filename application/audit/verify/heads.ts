import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { LastRevision, SignedHead } from '../../ports/audit-heads.ts';
import { RootHash, signedText } from '../head.ts';
import { Faulty } from './fault.ts';
import { strictJson } from './strict-json.ts';

/** A head and, if it was given, the list of the streams that its root covers. */
export interface GivenHead {
  readonly head: SignedHead;
  readonly list?: readonly LastRevision[] | undefined;
}

const MEMBERS = [
  'tenant_id',
  'position',
  'root',
  'signed_at',
  'algorithm',
  'public_key',
  'signature',
] as const;

const PUBLIC_KEY_BYTES = 44;

const objectOf = (text: string): Record<string, unknown> => {
  const value = strictJson(text);
  // An array has none of the members that callers read.
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
};

/** Whether all members are strings; `checkSignature` checks the algorithm. */
const isHead = (value: object): value is SignedHead =>
  MEMBERS.every((name) => {
    const member: unknown = Reflect.get(value, name);
    return typeof member === 'string' && member.isWellFormed();
  });

const headOf = (text: string): SignedHead | undefined => {
  const value = objectOf(text);
  return isHead(value) ? value : undefined;
};

const lastRevisionOf = (text: string): LastRevision | undefined => {
  const { stream, revision, hash } = objectOf(text);
  if (typeof stream !== 'string' || !Number.isSafeInteger(revision) || typeof hash !== 'string')
    return undefined;
  return { stream, revision: Number(revision), hash };
};

const linesOf = (text: string): string[] => text.split('\n').filter((line) => !/^[ \t\r]*$/.test(line));

/** Parses the answer of `GET /audit/proof`: one object, or a head and its list as lines. @throws {Faulty} */
export const proofOf = (text: string): GivenHead => {
  const whole = headOf(text);
  if (whole !== undefined) return { head: whole };
  const [first = '', ...rest] = linesOf(text);
  const head = headOf(first);
  const list = rest.map(lastRevisionOf);
  if (head === undefined) throw new Faulty('bad_signature', 'The proof is not a valid head.');
  const revisions = list.filter((one) => one !== undefined);
  const root = new RootHash();
  root.add(revisions);
  if (revisions.length !== list.length || root.digest() !== head.root) {
    throw new Faulty('bad_signature', 'The list of heads in the proof is not the one that was signed.');
  }
  return { head, list: revisions };
};

/**
 * Parses a file of `AUDIT_HEADS`: one head per line, oldest first. Skips lines that are not strict JSON, such as a line
 * that a crash cut off. @throws {Faulty}
 */
export const headsOf = (text: string): GivenHead[] =>
  linesOf(text).flatMap((line) => {
    const head = headOf(line);
    if (head !== undefined) return [{ head }];
    if (strictJson(line) === undefined) return [];
    throw new Faulty('bad_signature', 'A line in the file of heads is not a valid head.');
  });

/** Decodes canonical base64, for which all decoders give the same bytes; undefined for other text. */
const base64Of = (text: string): Buffer | undefined => {
  const bytes = Buffer.from(text, 'base64');
  return bytes.toString('base64') === text ? bytes : undefined;
};

/** Reads a key in base64 of the DER form (SPKI), or in PEM. @throws for anything but an Ed25519 key */
export const publicKeyOf = (text: string): KeyObject => {
  const body = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => !line.startsWith('-----'))
    .join('');
  const der = base64Of(body);
  if (der?.length !== PUBLIC_KEY_BYTES) throw new Error('no Ed25519 key');
  const key = createPublicKey({ key: der, format: 'der', type: 'spki' });
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('no Ed25519 key');
  return key;
};

/** @throws {Faulty} */
const checkSignature = ({ head }: GivenHead, key: KeyObject): void => {
  const text = Buffer.from(signedText(head), 'utf8');
  const signature = base64Of(head.signature);
  const isGood = head.algorithm === 'Ed25519' && signature && verify(null, text, key, signature);
  if (!isGood) {
    throw new Faulty('bad_signature', `The head at position ${head.position} was not signed with this key.`);
  }
};

/**
 * Checks signatures and returns the heads in order of position, one for each position.
 * @param proof must be at least as new as the newest head of `others`
 * @param notBefore the newest head must not be signed before this time (RFC 3339)
 * @throws {Faulty}
 */
export const orderedHeads = (
  proof: GivenHead | undefined,
  others: readonly GivenHead[],
  key: KeyObject,
  notBefore: string | undefined,
): GivenHead[] => {
  const all = proof === undefined ? others : [...others, proof];
  const tenant = (proof ?? others.at(-1))?.head.tenant_id;
  for (const given of all) {
    checkSignature(given, key);
    if (given.head.tenant_id !== tenant) {
      throw new Faulty(
        'foreign_head',
        `The head at position ${given.head.position} belongs to another tenant: ${given.head.tenant_id}.`,
      );
    }
  }
  const byPosition = new Map<string, GivenHead>();
  for (const given of all) {
    const known = byPosition.get(given.head.position);
    if (known !== undefined && known.head.root !== given.head.root) {
      throw new Faulty(
        'root_mismatch',
        `Two heads at position ${given.head.position} contradict each other.`,
      );
    }
    if (known?.list === undefined) byPosition.set(given.head.position, given);
  }
  const heads = [...byPosition.values()].sort((a, b) => (a.head.position < b.head.position ? -1 : 1));
  const newest = heads.at(-1);
  if (proof !== undefined && newest !== undefined && newest.head.position > proof.head.position) {
    throw new Faulty(
      'old_head',
      `The proof is of position ${proof.head.position}, but a newer head exists, of position ${newest.head.position}, signed at ${newest.head.signed_at}.`,
    );
  }
  const signed = all
    .map(({ head }) => head.signed_at)
    .sort()
    .at(-1);
  if (notBefore !== undefined && signed !== undefined && Date.parse(signed) < Date.parse(notBefore)) {
    throw new Faulty('old_head', `The newest head was signed at ${signed}, before ${notBefore}.`);
  }
  return heads;
};
