import { statSync } from 'node:fs';
import type { Logger } from '../application/ports/logger.ts';
import type { Config } from './config.ts';

/** Creates files and folders for their owner only, whatever the umask (decision 31). */
export const keepFilesPrivate = (): void => {
  process.umask(0o077);
};

const OTHERS = 0o077;

/** Warns of existing data and key folders that other users can read; does not change them. */
export const warnOfOpenFolders = ({ DATA_DIR, KEYSTORE_URL }: Config, logger: Logger): void => {
  // Windows has no such modes.
  if (process.platform === 'win32') return;
  const keys = KEYSTORE_URL === undefined || KEYSTORE_URL.startsWith('mongodb') ? DATA_DIR : KEYSTORE_URL;
  for (const folder of new Set([DATA_DIR, keys])) {
    const mode = (statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
    if ((mode & OTHERS) === 0) continue;
    logger.warn(
      { folder, mode: mode.toString(8) },
      'other users of this machine may look into this folder: make it private with chmod 700',
    );
  }
};
