import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { eventually, type Server } from './server.ts';

/** A process stops some time after its signal, and its threads one by one. */
const isStopped = (pid: number): boolean =>
  readdirSync(`/proc/${pid}/task`).every((task) =>
    /^State:\s+T/m.test(readFileSync(`/proc/${pid}/task/${task}/status`, 'utf8')),
  );

const isWriteLocked = (path: string): boolean => {
  const db = new DatabaseSync(path, { timeout: 0 });
  try {
    db.exec('BEGIN IMMEDIATE');
    db.exec('ROLLBACK');
    return false;
  } catch {
    return true;
  } finally {
    db.close();
  }
};

/**
 * Stops a process with SIGSTOP while it has no transaction open: a process that is stopped inside a transaction keeps
 * the lock of an embedded store, and other processes answer 503. SIGCONT lets the process continue.
 */
export const freezeOutsideTransactions = (server: Server): Promise<true> =>
  eventually('a process that is stopped outside transactions', async () => {
    server.signal('SIGSTOP');
    await eventually('the stop', () => isStopped(server.pid));
    const stores = readdirSync(server.dataDir).filter((name) => name.endsWith('.db'));
    if (!stores.some((name) => isWriteLocked(join(server.dataDir, name)))) return true;
    server.signal('SIGCONT');
    return undefined;
  });
