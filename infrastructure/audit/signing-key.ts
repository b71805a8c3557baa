import { createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { join } from 'node:path';
import type { HeadSigningKey } from '../../application/ports/audit-heads.ts';
import { type Config, ConfigError } from '../config.ts';
import { storedOrNew } from '../durable-files.ts';
import { ed25519KeyOf, KEY_FORMS } from '../ed25519-key.ts';

const FILE = 'audit-signing-key.pem';

/**
 * The key that signs heads. Without a key in the environment, one is generated and stored in the data folder. In
 * production the result is undefined instead: a key stored with the log proves nothing against the log's writers.
 * @throws {ConfigError} for anything but an Ed25519 key
 */
export const headSigner = (config: Config): HeadSigningKey | undefined => {
  const { AUDIT_SIGNING_KEY: given, NODE_ENV } = config;
  if (given === undefined && NODE_ENV === 'production') return undefined;
  const key = privateKeyOf(given ?? storedOrNew(join(config.DATA_DIR, FILE), newKey));
  const publicKey = createPublicKey(key).export({ format: 'der', type: 'spki' }).toString('base64');
  return { publicKey, sign: (text) => sign(null, Buffer.from(text, 'utf8'), key).toString('base64') };
};

const privateKeyOf = (text: string): KeyObject => {
  const key = ed25519KeyOf(text);
  if (key === undefined) throw new ConfigError(`AUDIT_SIGNING_KEY must be ${KEY_FORMS}.`);
  return key;
};

const newKey = (): string =>
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
