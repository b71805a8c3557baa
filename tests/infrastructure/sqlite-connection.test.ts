import { expect } from 'chai';
import { openSqlite } from '../../infrastructure/sqlite/connection.ts';

describe('A connection to a SQLite file', () => {
  for (const [name, errcode] of [
    ['SQLITE_BUSY', 5],
    ['SQLITE_LOCKED', 6],
    ['SQLITE_PROTOCOL', 15],
    ['SQLITE_BUSY_RECOVERY', 261],
  ] as const) {
    it(`retries a read that failed with ${name}`, async () => {
      const connection = await openSqlite({ path: ':memory:', pragmas: [], schema: '' });
      let tries = 0;
      const found = await connection.read(() => {
        tries += 1;
        if (tries === 1) throw Object.assign(new Error(name), { errcode });
        return 'found';
      });
      expect([found, tries]).to.deep.equal(['found', 2]);
      connection.close();
    });
  }
});
