import { createPrivateKey, type KeyObject } from 'node:crypto';

/** The DER bytes that precede the 32 bytes of an Ed25519 private key (RFC 8410). */
const PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED = 32;

export const KEY_FORMS = 'an Ed25519 private key: PEM, or base64 of its DER form or its 32 bytes';

/** Parses PEM (PKCS 8), or base64 of the DER form or of the 32 bytes; undefined for anything else. */
export const ed25519KeyOf = (text: string): KeyObject | undefined => {
  try {
    const key = text.includes('-----BEGIN')
      ? createPrivateKey(text.replaceAll('\\n', '\n'))
      : createPrivateKey({ key: derOf(Buffer.from(text, 'base64')), format: 'der', type: 'pkcs8' });
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    // Drops the error, which could hold a part of the key.
    return undefined;
  }
};

export const isEd25519Key = (text: string): boolean => ed25519KeyOf(text) !== undefined;

const derOf = (bytes: Buffer): Buffer => (bytes.length === SEED ? Buffer.concat([PREFIX, bytes]) : bytes);
