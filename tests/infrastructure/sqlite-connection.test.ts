import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { glob } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { constants, DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { LIMIT_CLAUSE, openSqlite } from '../../infrastructure/sqlite/connection.ts';
import { rejection } from '../support/eventually.ts';

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

describe('A SQLite file that cannot be used', () => {
  it('is not left open', async function () {
    if (process.platform !== 'linux') this.skip();
    const folder = mkdtempSync(join(tmpdir(), 'sqlite-'));
    const path = join(folder, 'any.db');
    writeFileSync(path, 'not a database, and long enough to be read as one'.repeat(100));
    const opening = openSqlite({ path, pragmas: ['journal_mode = WAL'], schema: '' });
    expect(await rejection(opening)).to.be.instanceOf(StoreUnavailable);
    const targets = readdirSync('/proc/self/fd').map((fd) => {
      try {
        return readlinkSync(`/proc/self/fd/${fd}`);
      } catch {
        return 'closed meanwhile';
      }
    });
    expect(targets).not.to.include(path);
    rmSync(folder, { recursive: true });
  });
});

describe('A limit of rows', () => {
  it('is bound without compiling the statement again', () => {
    const db = new DatabaseSync(':memory:');
    db.exec('CREATE TABLE t (n INTEGER); INSERT INTO t VALUES (1), (2), (3)');
    let compiled = 0;
    db.setAuthorizer((action) => {
      if (action === constants.SQLITE_SELECT) compiled += 1;
      return constants.SQLITE_OK;
    });
    const statement = db.prepare(`SELECT n FROM t ORDER BY n ${LIMIT_CLAUSE}`);
    expect([1, 2, 3, 9].map((limit) => statement.all(limit).length)).to.deep.equal([1, 2, 3, 3]);
    expect(compiled).to.equal(1);
    db.close();
  });

  it('is never a bare parameter in the sources', async () => {
    const found: string[] = [];
    for await (const file of glob('infrastructure/**/*.ts')) {
      if (/LIMIT \?[^ ]/.test(readFileSync(file, 'utf8'))) found.push(file);
    }
    expect(found).to.deep.equal([]);
  });
});
