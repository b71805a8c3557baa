import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { convertKeyStore } from '../../infrastructure/key-store/sqlite.ts';
import { type AdminCommand, optionsOf, printNote, Refusal } from './command.ts';
import { existingData } from './data-checks.ts';

/** Makes a key store of an earlier version keep no copies of destroyed keys (decision 6). */
export const convertKeys: AdminCommand = {
  name: 'convert-keys',
  usage: '',
  summary:
    'Let keys.db of an earlier version keep no copy of a destroyed key. Servers may run. Needs free disk of three times the file.',
  run: async (args) => {
    optionsOf(args, z.object({}));
    const path = join(existingData().DATA_DIR, 'keys.db');
    if (!existsSync(path))
      throw new Refusal(`There is no ${path}: this command is for the embedded key store.`);
    const wasFormer = await convertKeyStore({ path });
    printNote(wasFormer ? 'The key store is converted.' : 'The key store was converted already.');
  },
};
