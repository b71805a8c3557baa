import { createCipheriv, createDecipheriv, type KeyObject } from 'node:crypto';
import { randomBytes } from '../runtime/random.ts';

/** AES-256-GCM: a 12-byte IV, the ciphertext and a 16-byte tag. */

const IV = 12;
const TAG = 16;

/** Takes a `KeyObject`, since encrypting with one is faster than with raw key bytes. */
export const encrypt = (key: KeyObject, context: string, plain: Uint8Array | string): Buffer => {
  const iv = randomBytes(IV);
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(context));
  const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
  cipher.final();
  return Buffer.concat([iv, body, cipher.getAuthTag()]);
};

export const decrypt = (key: KeyObject, context: string, bytes: Uint8Array): Buffer => {
  // Refuses truncated tags.
  if (bytes.length < IV + TAG) throw new Error('too short to have been sealed');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV), { authTagLength: TAG });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG));
  return Buffer.concat([decipher.update(bytes.subarray(IV, bytes.length - TAG)), decipher.final()]);
};
