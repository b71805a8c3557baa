import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { ReadStore } from '../../application/ports/read-store.ts';
import { openSqliteReadStore } from './sqlite/store.ts';

const LOCK = 'lock.db';

/** A place for read stores that nobody keeps. */
export interface Scratch {
  /** An empty read store, in a file of its own. */
  open(name: string): Promise<ReadStore>;
  /** Removes everything. Stores that were opened are closed by then. */
  remove(): Promise<void>;
}

/**
 * Takes the scratch folder for this process and clears it of what a killed one has left: the lock is the system's, which
 * ends with the process whatever ends it.
 * @returns undefined while another process has it
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
      // The lock's file stays: who waits for it must not be given another one.
      lock.exec('ROLLBACK');
      lock.close();
    },
  };
};
