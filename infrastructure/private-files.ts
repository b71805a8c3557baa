import { accessSync, constants, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Logger } from '../application/ports/logger.ts';
import { type Config, ConfigError } from './config.ts';
import { codeOf } from './error-code.ts';

/** Sets the umask: from now on this process creates files and folders for their owner only (decision 31). */
export const keepFilesPrivate = (): void => {
  process.umask(0o077);
};

/**
 * Makes a folder and its parents one by one: `mkdir` with `recursive` never returns in file systems such as `/proc`.
 */
export const makeFolder = (path: string): void => {
  if (existsSync(path)) return;
  makeFolder(dirname(path));
  try {
    mkdirSync(path);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (codeOf(error) !== 'EEXIST') throw error;
  }
};

/**
 * Makes the folders of data and keys before any store is opened. Refuses a folder, or a store's file in it, that this
 * user cannot write.
 * @throws {ConfigError}
 */
export const requireFolders = ({ DATA_DIR, KEYSTORE_URL }: Folders): void => {
  requireFolder('DATA_DIR', DATA_DIR);
  const keys = keyFolderOf(KEYSTORE_URL);
  if (keys !== undefined) requireFolder('KEYSTORE_URL', keys);
};

type Folders = Pick<Config, 'DATA_DIR' | 'KEYSTORE_URL'>;

const keyFolderOf = (url: Config['KEYSTORE_URL']): string | undefined =>
  url === undefined || url.startsWith('mongodb') ? undefined : url;

const WHY: ReadonlyMap<string, string> = new Map([
  ['EROFS', 'it is read-only'],
  ['ENOTDIR', 'a part of its path is a file'],
]);

const requireFolder = (name: keyof Folders, folder: string): void => {
  let files: string[];
  try {
    makeFolder(resolve(folder));
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    files = readdirSync(folder);
  } catch (error) {
    const code = String(codeOf(error));
    throw new ConfigError(`${name} must be a folder that this user can write (${WHY.get(code) ?? code}).`);
  }
  const [first, ...others] = files.filter((file) => OWN.test(file) && !isWritable(join(folder, file)));
  if (first === undefined) return;
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  throw new ConfigError(
    `${name} has files that this user cannot write: ${first}${more}. Give them to this user.`,
  );
};

/** Names of the files that the embedded stores write; other files in the folder are not checked. */
const OWN = /^(.+\.db(-wal|-shm)?|blobs)$/;

const isWritable = (path: string): boolean => {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
    return true;
  } catch (error) {
    // A write-ahead log may have been removed by a process that ended meanwhile.
    return codeOf(error) === 'ENOENT';
  }
};

const OTHERS = 0o077;

/** Warns of data and key folders that other users can access; does not change the folders. */
export const warnOfOpenFolders = ({ DATA_DIR, KEYSTORE_URL }: Folders, logger: Logger): void => {
  // Windows has no permission bits.
  if (process.platform === 'win32') return;
  for (const folder of new Set([DATA_DIR, keyFolderOf(KEYSTORE_URL) ?? DATA_DIR])) {
    const mode = (statSync(folder, { throwIfNoEntry: false })?.mode ?? 0) & 0o777;
    if ((mode & OTHERS) === 0) continue;
    logger.warn(
      { folder, mode: mode.toString(8) },
      'other users of this machine can access this folder: make it private with chmod 700',
    );
  }
};
