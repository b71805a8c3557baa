import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { backUp } from '../../infrastructure/backup/backup.ts';
import { restore } from '../../infrastructure/backup/restore.ts';
import type { Config } from '../../infrastructure/config.ts';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { type AdminCommand, adminConfig, optionsOf, Refusal, say } from './command.ts';

const folder = z.string().min(1);

/** Path of the embedded key store's file. @throws {Refusal} when a store is not embedded */
const embeddedKeys = (config: Config): string => {
  const { EVENTSTORE_URL, MONGODB_URL, KEYSTORE_URL, DATA_DIR } = config;
  if (EVENTSTORE_URL !== undefined || MONGODB_URL !== undefined || KEYSTORE_URL?.startsWith('mongodb')) {
    throw new Refusal(
      'This copies embedded stores alone: see docs/operations.md for EventStoreDB and MongoDB.',
    );
  }
  return join(KEYSTORE_URL ?? DATA_DIR, 'keys.db');
};

/** Prints which secrets the backup leaves out: a backup with the master key in it could be decrypted. */
const sayWhatIsLeftOut = ({ DATA_DIR, MASTER_KEY }: Config): void => {
  const secrets = join(DATA_DIR, 'development-secrets.json');
  say(
    MASTER_KEY === undefined && existsSync(secrets)
      ? `Not in it: ${secrets}. Keep that file apart from both: without its MASTER_KEY the keys open nothing.`
      : 'Not in it: MASTER_KEY. Keep it apart from both: without it the keys open nothing.',
  );
  const signing = join(DATA_DIR, 'audit-signing-key.pem');
  if (existsSync(signing)) say(`Not in it either: ${signing}, with which heads are signed.`);
};

export const backup: AdminCommand = {
  name: 'backup',
  usage: '--to <folder> --keys-to <folder>',
  summary:
    'Copy the embedded stores while servers run on them: log, files and stored answers to one empty folder, data keys to another.',
  run: async (args) => {
    const { to, 'keys-to': keysTo } = optionsOf(args, z.object({ to: folder, 'keys-to': folder }));
    const config = adminConfig();
    const keys = embeddedKeys(config);
    const madeAt = new Date(systemClock.now()).toISOString();
    const { position } = await backUp({ dataDir: config.DATA_DIR, keys, to, keysTo }, madeAt);
    say(
      `Backed up to ${position === '' ? 'an empty log' : `position ${position}`}. Read models are not in it: they are folded anew.`,
    );
    sayWhatIsLeftOut(config);
  },
};

export const restoreBackup: AdminCommand = {
  name: 'restore',
  usage: '--from <folder> --keys-from <folder> --into <data folder> [--keys-into <folder>] [--older-keys]',
  summary:
    'Make a data folder of a backup and of data keys, each byte checked. Nothing that is there is replaced.',
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
    say(
      `Restored what was backed up at ${made_at}, up to ${position === '' ? 'an empty log' : `position ${position}`}.`,
    );
    say(
      'Before the start: give the server the MASTER_KEY of then (in development, put development-secrets.json there).',
    );
  },
};
