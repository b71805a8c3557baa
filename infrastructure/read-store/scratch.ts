import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ReadStore } from '../../application/ports/read-store.ts';
import { openSqliteReadStore } from './sqlite/store.ts';

const LOCK = 'lock.db';

/** A folder of temporary read stores. */
export interface Scratch {
  /** Opens an empty read store in its own file. */
  open(name: string): Promise<ReadStore>;
  /** Removes the stores, which must be closed, and releases the folder's lock. */
  remove(): Promise<void>;
}

/**
 * Locks the scratch folder for this process and removes leftovers of crashed processes. The operating system releases
 * the lock with the process.
 * @returns undefined while another process holds the lock
 */
export const takeScratch = async (folder: string): Promise<Scratch | undefined> => {
  await mkdir(folder, { recursive: true });
  const lock = new DatabaseSync(join(folder, LOCK), { timeout: 0 });
  try {
    lock.exec('BEGIN EXCLUSIVE');
  } catch {
    lock.close();
    return undefined;
  }
  const clear = async (): Promise<void> => {
    for (const name of await readdir(folder)) {
      if (!name.startsWith(LOCK)) await rm(join(folder, name), { recursive: true, force: true });
    }
  };
  await clear();
  let opened = 0;
  return {
    open: (name) => {
      opened += 1;
      return openSqliteReadStore({ path: join(folder, `${name}-${opened}`, 'read-models.db') });
    },
    remove: async () => {
      await clear();
      // Keeps the lock's file: if another process has it open, a new file would be a second lock.
      lock.exec('ROLLBACK');
      lock.close();
    },
  };
};
