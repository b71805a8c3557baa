import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { HeadSigningKey } from '../../application/ports/audit-heads.ts';
import { type Config, ConfigError } from '../config.ts';
import { linkFirst, writeWhole } from '../durable-files.ts';
import { ed25519KeyOf, KEY_FORMS } from '../ed25519-key.ts';

const FILE = 'audit-signing-key.pem';

/**
 * The key that signs heads. Without a key in the environment, one is generated and stored in the data folder, except
 * in production, where the result is undefined: a key stored with the log proves nothing against the log's writers.
 * @throws {ConfigError} for anything but an Ed25519 key
 */
export const headSigner = (config: Config): HeadSigningKey | undefined => {
  const { AUDIT_SIGNING_KEY: given, NODE_ENV } = config;
  if (given === undefined && NODE_ENV === 'production') return undefined;
  const key = given === undefined ? storedOrNew(config.DATA_DIR) : privateKeyOf(given);
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64');
  return { publicKey, sign: (text) => sign(null, Buffer.from(text, 'utf8'), key).toString('base64') };
};

const privateKeyOf = (text: string): KeyObject => {
  const key = ed25519KeyOf(text);
  if (key === undefined) throw new ConfigError(`AUDIT_SIGNING_KEY must be ${KEY_FORMS}.`);
  return key;
};

/** Reads the stored key or creates it; of concurrent processes one creates it and the others read it. */
const storedOrNew = (folder: string): KeyObject => {
  const path = join(folder, FILE);
  if (!existsSync(path)) {
    const { privateKey } = generateKeyPairSync('ed25519');
    writeWhole(path, privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(), linkFirst);
  }
  return privateKeyOf(readFileSync(path, 'utf8'));
};
