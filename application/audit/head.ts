import { createHash } from 'node:crypto';
import type { HeadSigningKey, SignedHead, StreamHead, UnsignedHead } from '../ports/audit-heads.ts';

/**
 * The tenant-wide head: one hash over the heads of all streams of a tenant at a position, signed. The bytes are those
 * that docs/audit-format.md tells auditors; whatever is changed here makes every head made before worthless.
 */

export const headLine = ({ stream, revision, hash }: StreamHead): string => `${stream} ${revision} ${hash}`;

/** SHA-256 over the lines of all heads, in the order of their bytes, joined with a line feed. */
export class RootHash {
  readonly #hash = createHash('sha256');
  #isFirst = true;

  /** Heads come in the order of their streams' bytes. */
  add(heads: readonly StreamHead[]): void {
    if (heads.length === 0) return;
    const lines = heads.map(headLine).join('\n');
    this.#hash.update(this.#isFirst ? lines : `\n${lines}`, 'utf8');
    this.#isFirst = false;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

/** The text under the signature: five lines, without a line feed at the end. */
export const signedText = ({ tenant_id, position, root, signed_at }: UnsignedHead): string =>
  ['workflow-platform audit head v1', tenant_id, position, root, signed_at].join('\n');

export const signedHead = (head: UnsignedHead, signer: HeadSigningKey): SignedHead => ({
  ...head,
  algorithm: 'Ed25519',
  public_key: signer.publicKey,
  signature: signer.sign(signedText(head)),
});
