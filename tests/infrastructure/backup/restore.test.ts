import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { backUp } from '../../../infrastructure/backup/backup.ts';
import { restore } from '../../../infrastructure/backup/restore.ts';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { openSqliteKeyStore } from '../../../infrastructure/key-store/sqlite.ts';
import { rejection } from '../../support/eventually.ts';

describe('A restore of a backup', () => {
  let folder: string;
  const at = (name: string): string => join(folder, name);

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'restore-'));
    mkdirSync(at('source'));
    const keys = join(at('source'), 'keys.db');
    await openSqliteEventStore({ path: join(at('source'), 'events.db') }).close();
    await (await openSqliteKeyStore({ path: keys })).close();
    const plan = { dataDir: at('source'), keys, to: at('data'), keysTo: at('keys') };
    await backUp(plan, '2026-01-01T00:00:00Z');
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const restored = (into: string, keysInto: string) =>
    restore({ from: at('data'), keysFrom: at('keys'), into, keysInto, olderKeys: false });

  it('fills an empty folder behind a symbolic link', async () => {
    mkdirSync(at('disk'));
    symlinkSync(at('disk'), at('link'));
    await restored(at('link'), at('vault'));
    expect(readdirSync(at('disk')).toSorted()).to.deep.equal(['blobs', 'events.db']);
    expect(readdirSync(at('vault'))).to.deep.equal(['keys.db']);
  });

  it('can be repeated after another process has written into the folder', async () => {
    mkdirSync(at('into'));
    const running = rejection(restored(at('into'), at('vault')));
    // The folder was found empty already.
    writeFileSync(join(at('into'), 'other'), '');
    expect(await running).to.have.property('code', 'ENOTEMPTY');
    expect(readdirSync(folder).toSorted()).to.deep.equal(['data', 'into', 'keys', 'source', 'vault']);
    rmSync(join(at('into'), 'other'));
    await restored(at('into'), at('vault'));
    expect(readdirSync(at('into')).toSorted()).to.deep.equal(['blobs', 'events.db']);
  });
});
