import { createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeadSigningKey } from '../../application/ports/audit-heads.ts';
import { type Config, ConfigError } from '../config.ts';
import { linkFirst, writeWhole } from '../durable-files.ts';

const FILE = 'audit-signing-key.pem';
/** DER of an Ed25519 private key before its 32 bytes (RFC 8410). */
const PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED = 32;

/**
 * The key that signs heads: from the environment, else, outside production, generated once and stored in the data
 * folder. Undefined in production without one, because a key beside the log proves nothing against its writers.
 * @throws {ConfigError} for anything but an Ed25519 key
 */
export const headSigner = (config: Config): HeadSigningKey | undefined => {
  const { AUDIT_SIGNING_KEY: given, NODE_ENV } = config;
  if (given === undefined && NODE_ENV === 'production') return undefined;
  const key = given === undefined ? storedOrNew(config.DATA_DIR) : privateKeyOf(given);
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64');
  return { publicKey, sign: (text) => sign(null, Buffer.from(text, 'utf8'), key).toString('base64') };
};

/** PEM (PKCS 8), or base64 of the DER form or of the 32 bytes. */
const privateKeyOf = (text: string): KeyObject => {
  try {
    const key = text.includes('-----BEGIN')
      ? createPrivateKey(text.replaceAll('\\n', '\n'))
      : createPrivateKey({ key: derOf(Buffer.from(text, 'base64')), format: 'der', type: 'pkcs8' });
    if (key.asymmetricKeyType === 'ed25519') return key;
  } catch {
    // Drops the error, which could hold a part of the key.
  }
  throw new ConfigError(
    'AUDIT_SIGNING_KEY must be an Ed25519 private key: PEM, or base64 of its DER form or its 32 bytes.',
  );
};

const derOf = (bytes: Buffer): Buffer => (bytes.length === SEED ? Buffer.concat([PREFIX, bytes]) : bytes);

/** Reads the stored key or creates it; of concurrent processes one creates it and the others read it. */
const storedOrNew = (folder: string): KeyObject => {
  const path = join(folder, FILE);
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ed25519');
    writeWhole(path, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), linkFirst);
  }
  return privateKeyOf(readFileSync(path, 'utf8'));
};
