import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import type { SealedHead, StreamHead } from '../../ports/audit-heads.ts';
import { RootHash, signedText } from '../head.ts';
import { Faulty } from './fault.ts';

/** A head, and where it was given the heads of streams that it is over. */
export interface GivenHead {
  readonly head: SealedHead;
  readonly list?: readonly StreamHead[] | undefined;
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

const parsed = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    // Checked right here to be an object of JSON.
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
};

const headOf = (text: string): SealedHead | undefined => {
  const value = parsed(text);
  if (value === undefined || !MEMBERS.every((name) => typeof value[name] === 'string')) return undefined;
  // Each member was just seen to be a text; the algorithm is looked at with the signature.
  return value as unknown as SealedHead;
};

const streamHeadOf = (text: string): StreamHead | undefined => {
  const { stream, revision, hash } = parsed(text) ?? {};
  if (typeof stream !== 'string' || typeof revision !== 'number' || typeof hash !== 'string')
    return undefined;
  return { stream, revision, hash };
};

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line.trim() !== '');

/** What `GET /audit/proof` answers: one object, or with the list of heads, a line each. @throws {Faulty} */
export const proofOf = (text: string): GivenHead => {
  const whole = headOf(text);
  if (whole !== undefined) return { head: whole };
  const [first = '', ...rest] = linesOf(text);
  const head = headOf(first);
  const list = rest.map(streamHeadOf);
  if (head === undefined) throw new Faulty('bad_signature', 'The proof is no head.');
  const heads = list.filter((one) => one !== undefined);
  const root = new RootHash();
  root.add(heads);
  if (heads.length !== list.length || root.digest() !== head.root) {
    throw new Faulty('bad_signature', 'The list of heads in the proof is not the one that was signed.');
  }
  return { head, list: heads };
};

/** A file of `AUDIT_HEADS`: one head a line, oldest first. A line that a crash cut off is passed over. */
export const headsOf = (text: string): GivenHead[] =>
  linesOf(text).flatMap((line) => {
    const head = headOf(line);
    if (head !== undefined) return [{ head }];
    if (parsed(line) === undefined) return [];
    throw new Faulty('bad_signature', 'A line in the file of heads is no head.');
  });

/** Base64 of the DER form (SPKI), or PEM. @throws for what is no Ed25519 key */
export const publicKeyOf = (text: string): KeyObject => {
  const key = text.includes('-----BEGIN')
    ? createPublicKey(text)
    : createPublicKey({ key: Buffer.from(text.trim(), 'base64'), format: 'der', type: 'spki' });
  if (key.asymmetricKeyType !== 'ed25519') throw new Error('no Ed25519 key');
  return key;
};

/** @throws {Faulty} */
export const checkSignature = ({ head }: GivenHead, key: KeyObject): void => {
  const text = Buffer.from(signedText(head), 'utf8');
  const isGood =
    head.algorithm === 'Ed25519' && verify(null, text, key, Buffer.from(head.signature, 'base64'));
  if (!isGood) {
    throw new Faulty('bad_signature', `The head at position ${head.position} was not signed with this key.`);
  }
};

/**
 * Signed heads in the order of their positions, each once.
 * @param proof must be as new as the newest of `others`
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
      throw new Faulty('foreign_head', `The head at ${given.head.position} is of ${given.head.tenant_id}.`);
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
      `The proof is of position ${proof.head.position}; there is a head of ${newest.head.position}, signed at ${newest.head.signed_at}.`,
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
