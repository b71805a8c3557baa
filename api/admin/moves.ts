import { z } from 'zod';
import { systemClock } from '../../infrastructure/identity/ids.ts';
import { expectEmptyStores } from '../../infrastructure/move/empty-stores.ts';
import { exportStores } from '../../infrastructure/move/export.ts';
import { importStores } from '../../infrastructure/move/import.ts';
import { openAnswers, openBlobs, openEvents, openKeys, openLogImport } from '../../infrastructure/stores.ts';
import { type AdminCommand, adminConfig, optionsOf, printNote, Refusal } from './command.ts';
import { existingData, silentLogger } from './data-checks.ts';

const folder = z.string().min(1);

/**
 * The folder of the keys; undefined when keys stay in a key store that the old and the new stores share.
 * @throws {Refusal} unless exactly one of folder and `stay` is given
 */
const keyFolder = (name: string, given: string | undefined, stay: boolean): string | undefined => {
  if ((given !== undefined) !== stay) return given;
  throw new Refusal(`Either --${name} <folder> or --keys-stay is needed.`, 2);
};

export const exportAll: AdminCommand = {
  name: 'export-stores',
  usage: '--to <folder> (--keys-to <folder> | --keys-stay)',
  summary:
    'Write log, files and stored answers to one empty folder and data keys to another, for import-stores. Stop all servers first.',
  run: async (args) => {
    const options = optionsOf(
      args,
      z.object({ to: folder, 'keys-to': folder.optional(), 'keys-stay': z.boolean() }),
    );
    const keysTo = keyFolder('keys-to', options['keys-to'], options['keys-stay']);
    const config = existingData();
    const events = await openEvents(config, silentLogger);
    const keys = keysTo === undefined ? undefined : await openKeys(config);
    const answers = await openAnswers(config);
    const blobs = await openBlobs(config);
    try {
      const madeAt = new Date(systemClock.now()).toISOString();
      const stores = { events, keys, answers, blobs };
      const folders = { dataDir: config.DATA_DIR, to: options.to, keysTo };
      const { log } = await exportStores(stores, folders, madeAt);
      printNote(`Exported ${log.events} events${log.end === null ? '' : `, up to position ${log.end}`}.`);
      printNote(
        'Not in the export: MASTER_KEY, AUDIT_SIGNING_KEY and the signing keys. Servers on the new stores need the same ones.',
      );
    } finally {
      for (const store of [events, keys, answers, blobs]) await store?.close();
    }
  },
};

export const importAll: AdminCommand = {
  name: 'import-stores',
  usage: '--from <folder> (--keys-from <folder> | --keys-stay)',
  summary:
    'Fill empty stores from an export. If it is interrupted, run the same command again to continue; no server starts on the stores until it is complete.',
  run: async (args) => {
    const options = optionsOf(
      args,
      z.object({ from: folder, 'keys-from': folder.optional(), 'keys-stay': z.boolean() }),
    );
    const keysFrom = keyFolder('keys-from', options['keys-from'], options['keys-stay']);
    const config = adminConfig();
    const log = await openLogImport(config);
    const open = async () => {
      const keys = keysFrom === undefined ? undefined : await openKeys(config);
      const blobs = await openBlobs(config);
      const answers = await openAnswers(config);
      const close = async (): Promise<void> => {
        for (const store of [keys, blobs, answers]) await store?.close();
      };
      return { keys, blobs, answers, close };
    };
    try {
      const expectEmpty = () => expectEmptyStores(config, keysFrom !== undefined);
      await importStores({ from: options.from, keysFrom, log, expectEmpty, open, report: printNote });
      printNote('The import is complete. Start a server, wait until it is ready, and run verify-data.');
    } finally {
      await log.close();
    }
  },
};
