import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../config.ts';
import { keyFileOf } from '../stores.ts';
import { MoveError } from './manifest.ts';

/**
 * Refuses stores with data: read models and checkpoints of another log would be wrong for the imported one.
 * @param withKeys false leaves the keys in place and does not check their store
 * @throws {MoveError}
 */
export const expectEmptyStores = async (config: Config, withKeys: boolean): Promise<void> => {
  const { DATA_DIR, MONGODB_URL, KEYSTORE_URL } = config;
  if (MONGODB_URL === undefined) {
    for (const name of ['read-models.db', 'answers.db', 'corpus.db']) expectNone(join(DATA_DIR, name));
    const blobs = join(DATA_DIR, 'blobs');
    if (existsSync(blobs) && readdirSync(blobs).some((name) => !name.startsWith('.'))) {
      throw new MoveError(`${blobs} is not empty.`);
    }
  } else await expectEmptyDatabase(MONGODB_URL, 'MONGODB_URL', withKeys);
  if (!withKeys) return;
  const keys = keyFileOf(config);
  if (keys !== undefined) expectNone(keys);
  else if (KEYSTORE_URL !== undefined) await expectEmptyDatabase(KEYSTORE_URL, 'KEYSTORE_URL', true);
};

const expectNone = (path: string): void => {
  if (existsSync(path)) throw new MoveError(`${path} exists already.`);
};

/** @param variable names the database in errors, since its address may contain a password */
const expectEmptyDatabase = async (url: string, variable: string, withKeys: boolean): Promise<void> => {
  const { openDurableDatabase } = await import('../mongodb/database.ts');
  await using database = await openDurableDatabase({ url });
  const collections = await database.db.listCollections({}, { nameOnly: true }).toArray();
  const names = collections.map(({ name }) => name);
  const found = names.find((name) => !name.startsWith('system.') && (withKeys || name !== 'data_keys'));
  if (found !== undefined) throw new MoveError(`The database of ${variable} is not empty: it has ${found}.`);
};
