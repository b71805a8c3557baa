import { randomUUID } from 'node:crypto';
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf } from './error-code.ts';

/** Syncs a folder, so that the names of new files in it are durable; Windows has no such call. */
export const syncFolder = async (path: string): Promise<void> => {
  if (process.platform === 'win32') return;
  await using folder = await open(path, 'r');
  await folder.sync();
};

const syncFolderNow = (path: string): void => {
  if (process.platform === 'win32') return;
  const folder = openSync(path, 'r');
  try {
    fsyncSync(folder);
  } finally {
    closeSync(folder);
  }
};

/**
 * Writes a private temporary file and then places it whole, so that no reader sees a part, even after a crash.
 * @param place gives the finished file its name: {@link linkFirst} or `renameSync`
 */
export const writeWhole = (
  path: string,
  text: string,
  place: (finished: string, path: string) => void,
): void => {
  const beside = `${path}.${randomUUID()}`;
  try {
    writeFileSync(beside, text, { flag: 'wx', mode: 0o600, flush: true });
    place(beside, path);
    syncFolderNow(dirname(path));
  } finally {
    rmSync(beside, { force: true });
  }
};

/** Links a finished file to its name; of concurrent writers the first one wins. */
const linkFirst = (finished: string, path: string): void => {
  try {
    linkSync(finished, path);
  } catch (error) {
    if (!existsSync(path)) throw error;
  }
};

/** Reads a file, or creates it; of concurrent processes one creates it and the others read it. */
export const storedOrNew = (path: string, made: () => string): string => {
  if (!existsSync(path)) writeWhole(path, made(), linkFirst);
  return readFileSync(path, 'utf8');
};

/** Removes files last modified before a time (ms since 1970), such as parts that killed processes left. */
export const removeOlder = async (folder: string, before: number): Promise<void> => {
  for (const name of (await orMissing(readdir(folder))) ?? []) {
    const path = join(folder, name);
    const found = await orMissing(stat(path));
    if (found !== undefined && found.mtimeMs < before) await rm(path, { force: true });
  }
};

/** Handles the rejection of a link whose name exists. */
export const ignoreExisting = (error: unknown): void => {
  if (codeOf(error) !== 'EEXIST') throw error;
};

/** The result of `work`; undefined when the file does not exist, or was deleted meanwhile. */
export const orMissing = async <T>(work: Promise<T>): Promise<T | undefined> => {
  try {
    return await work;
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
};
