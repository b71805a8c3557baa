import { createHash } from 'node:crypto';
import type { HeadSigningKey, LastRevision, SignedHead, UnsignedHead } from '../ports/audit-heads.ts';

/**
 * The root of a tenant's head: one hash over the last hashes of the tenant's streams at a position. The format is
 * public (docs/audit-format.md); changing it invalidates all earlier heads.
 */

const headLine = ({ stream, revision, hash }: LastRevision): string => `${stream} ${revision} ${hash}`;

/** SHA-256 over the lines of all streams, in byte order, joined with line feeds. */
export class RootHash {
  readonly #hash = createHash('sha256');
  #isFirst = true;

  /** Streams must come in byte order. */
  add(revisions: readonly LastRevision[]): void {
    if (revisions.length === 0) return;
    const lines = revisions.map(headLine).join('\n');
    this.#hash.update(this.#isFirst ? lines : `\n${lines}`, 'utf8');
    this.#isFirst = false;
  }

  digest(): string {
    return this.#hash.digest('hex');
  }
}

/** The signed text: five lines without a final line feed. */
export const signedText = ({ tenant_id, position, root, signed_at }: UnsignedHead): string =>
  ['workflow-platform audit head v1', tenant_id, position, root, signed_at].join('\n');

export const signedHead = (head: UnsignedHead, signer: HeadSigningKey): SignedHead => ({
  ...head,
  algorithm: 'Ed25519',
  public_key: signer.publicKey,
  signature: signer.sign(signedText(head)),
});
