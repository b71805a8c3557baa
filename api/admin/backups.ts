import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { backUp } from '../../infrastructure/backup/backup.ts';
import { restore } from '../../infrastructure/backup/restore.ts';
import type { Config } from '../../infrastructure/config.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { keyFileOf } from '../../infrastructure/stores.ts';
import { type AdminCommand, adminConfig, optionsOf, printNote, Refusal } from './command.ts';

const folder = z.string().min(1);

/** Path of the embedded key store's file. @throws {Refusal} when a store is not embedded */
const embeddedKeys = (config: Config): string => {
  const { EVENTSTORE_URL, MONGODB_URL } = config;
  const keys = keyFileOf(config);
  if (EVENTSTORE_URL !== undefined || MONGODB_URL !== undefined || keys === undefined) {
    throw new Refusal(
      'This command copies embedded stores only. See docs/operations.md for EventStoreDB and MongoDB.',
    );
  }
  return keys;
};

/** Prints which secrets the backup leaves out: a backup with the master key in it could be decrypted. */
const sayWhatIsLeftOut = ({ DATA_DIR, MASTER_KEY }: Config): void => {
  const secrets = join(DATA_DIR, 'development-secrets.json');
  printNote(
    MASTER_KEY === undefined && existsSync(secrets)
      ? `Not in the backup: ${secrets}. Keep that file apart from both folders: without its MASTER_KEY the data keys are useless.`
      : 'Not in the backup: MASTER_KEY. Keep it apart from both folders: without it the data keys are useless.',
  );
  const signing = join(DATA_DIR, 'audit-signing-key.pem');
  if (existsSync(signing)) printNote(`Also not in the backup: ${signing}, the key that signs heads.`);
};

export const backup: AdminCommand = {
  name: 'backup',
  usage: '--to <folder> --keys-to <folder>',
  summary:
    'Copy the embedded stores, also while servers use them: log, files and stored answers to one empty folder, data keys to another.',
  run: async (args) => {
    const { to, 'keys-to': keysTo } = optionsOf(args, z.object({ to: folder, 'keys-to': folder }));
    const config = adminConfig();
    const keys = embeddedKeys(config);
    const madeAt = new Date(systemClock.now()).toISOString();
    const { position } = await backUp({ dataDir: config.DATA_DIR, keys, to, keysTo }, madeAt);
    printNote(
      `Backed up ${position === '' ? 'an empty log' : `the log up to position ${position}`}. Read models are not in the backup: they are rebuilt from the log.`,
    );
    sayWhatIsLeftOut(config);
  },
};

export const restoreBackup: AdminCommand = {
  name: 'restore',
  usage: '--from <folder> --keys-from <folder> --into <data folder> [--keys-into <folder>] [--older-keys]',
  summary:
    'Create a data folder from a backup and its data keys, verifying every file. Existing files are never overwritten.',
  run: async (args) => {
    const options = optionsOf(
      args,
      z.object({
        from: folder,
        'keys-from': folder,
        into: folder,
        'keys-into': folder.optional(),
        'older-keys': z.boolean(),
      }),
    );
    const { position, made_at } = await restore({
      from: options.from,
      keysFrom: options['keys-from'],
      into: options.into,
      keysInto: options['keys-into'],
      olderKeys: options['older-keys'],
    });
    printNote(
      `Restored the backup of ${made_at}, ${position === '' ? 'an empty log' : `up to position ${position}`}.`,
    );
    printNote(
      'Before you start the server: set the MASTER_KEY of that time (in development, copy development-secrets.json into the data folder).',
    );
  },
};
