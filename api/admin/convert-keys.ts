import { existsSync } from 'node:fs';
import { z } from 'zod';
import { convertKeyStore } from '../../infrastructure/key-store/sqlite.ts';
import { keyFileOf } from '../../infrastructure/stores.ts';
import { type AdminCommand, adminConfig, optionsOf, printNote, Refusal } from './command.ts';

/** Makes a key store of an earlier version keep no copies of destroyed keys (decision 6). */
export const convertKeys: AdminCommand = {
  name: 'convert-keys',
  usage: '',
  summary:
    'Let keys.db of an earlier version keep no copy of a destroyed key. Servers may run. Needs free disk of three times the file.',
  run: async (args) => {
    optionsOf(args, z.object({}));
    const path = keyFileOf(adminConfig());
    if (path === undefined)
      throw new Refusal('The data keys are in MongoDB: this command is for the embedded key store.');
    if (!existsSync(path)) throw new Refusal(`There is no ${path}. Check DATA_DIR and KEYSTORE_URL.`);
    const wasFormer = await convertKeyStore({ path });
    printNote(wasFormer ? 'The key store is converted.' : 'The key store was converted already.');
  },
};
