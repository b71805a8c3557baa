import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { admin } from '../../support/admin-cli.ts';
import { newDataFolder } from '../../support/server.ts';

describe('The command convert-keys', () => {
  /** A folder with a key store of an earlier version. */
  const formerStore = async (): Promise<string> => {
    const folder = await newDataFolder();
    using db = new DatabaseSync(join(folder, 'keys.db'));
    db.exec('CREATE TABLE data_keys (id TEXT PRIMARY KEY, wrapped BLOB) WITHOUT ROWID');
    return folder;
  };

  it('converts the key store of KEYSTORE_URL, not a former one in the data folder', async () => {
    const [dataDir, vault] = [await formerStore(), await formerStore()];
    const ends = [
      { env: { DATA_DIR: dataDir, KEYSTORE_URL: vault }, said: 'The key store is converted.\n' },
      { env: { DATA_DIR: dataDir, KEYSTORE_URL: vault }, said: 'The key store was converted already.\n' },
      { env: { DATA_DIR: dataDir }, said: 'The key store is converted.\n' },
    ];
    for (const { env, said } of ends) {
      const { code, stderr } = await admin(['convert-keys'], env);
      expect([code, stderr]).to.deep.equal([0, said]);
    }
  });

  it('refuses keys in MongoDB, and does not show the address', async () => {
    const dataDir = await formerStore();
    const url = 'mongodb://user:hush@127.0.0.1:1/keys';
    for (const name of ['KEYSTORE_URL', 'MONGODB_URL']) {
      const { code, stderr } = await admin(['convert-keys'], { DATA_DIR: dataDir, [name]: url });
      expect([code, stderr]).to.deep.equal([
        1,
        'The data keys are in MongoDB: this command is for the embedded key store.\n',
      ]);
    }
  });
});
