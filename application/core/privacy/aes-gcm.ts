import { createCipheriv, createDecipheriv, type KeyObject, randomFillSync } from 'node:crypto';

/** AES-256-GCM: the bytes are a 12-byte IV, the ciphertext and a 16-byte tag. */

const IV = 12;
const TAG = 16;

const pool = Buffer.allocUnsafe(IV * 1024);
let poolAt = pool.length;

/** From a pool: a call for each IV took 9 µs of a posted message (decision 33). */
const newIv = (): Buffer => {
  if (poolAt === pool.length) {
    randomFillSync(pool);
    poolAt = 0;
  }
  const iv = Buffer.from(pool.subarray(poolAt, poolAt + IV));
  poolAt += IV;
  return iv;
};

/** Keys are key objects: the cipher takes one in a tenth of the time that it needs for raw bytes. */
export const encrypt = (key: KeyObject, context: string, plain: Uint8Array | string): Buffer => {
  const iv = newIv();
  const cipher = createCipheriv('aes-256-gcm', key, iv);
  cipher.setAAD(Buffer.from(context));
  const body = typeof plain === 'string' ? cipher.update(plain, 'utf8') : cipher.update(plain);
  cipher.final();
  return Buffer.concat([iv, body, cipher.getAuthTag()]);
};

export const decrypt = (key: KeyObject, context: string, bytes: Uint8Array): Buffer => {
  // A shorter tag would be easier to guess.
  if (bytes.length < IV + TAG) throw new Error('too short to have been sealed');
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV), { authTagLength: TAG });
  decipher.setAAD(Buffer.from(context));
  decipher.setAuthTag(bytes.subarray(bytes.length - TAG));
  return Buffer.concat([decipher.update(bytes.subarray(IV, bytes.length - TAG)), decipher.final()]);
};
