import type { DatabaseSync } from 'node:sqlite';

/** Runs work in one transaction, rolled back when it throws. */
export const transaction = <T>(db: DatabaseSync, work: () => T, begin = 'BEGIN IMMEDIATE'): T => {
  db.exec(begin);
  try {
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    if (db.isTransaction) db.exec('ROLLBACK');
    throw error;
  }
};
