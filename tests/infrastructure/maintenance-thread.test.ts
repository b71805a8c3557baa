import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import threads from 'node:worker_threads';
import { expect } from 'chai';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { MaintenanceThread } from '../../infrastructure/maintenance/maintenance-thread.ts';
import { Checkpoints } from '../../infrastructure/sqlite/checkpoints.ts';
import { events } from '../contract/event-store-parts/helpers.ts';
import { untilPasses } from '../support/eventually.ts';
import { testLogger } from '../support/fakes.ts';

describe('Checkpoints in a thread', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'checkpoints-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('copy the write-ahead log while the writer continues; the last connection removes the log', async () => {
    const path = join(folder, 'any.db');
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (text)');
    const insert = db.prepare('INSERT INTO t VALUES (?)');
    const thread = new MaintenanceThread();
    const checkpoints = new Checkpoints(path, thread);
    const size = (): number => statSync(path).size;
    expect(size()).to.be.lessThan(10_000);
    for (let page = 0; page < 499; page += 1) {
      insert.run('x'.repeat(4000));
      checkpoints.wrote(1);
    }
    expect(size(), 'not yet worth its while').to.be.lessThan(10_000);
    insert.run('x'.repeat(4000));
    checkpoints.wrote(1);
    db.exec('BEGIN IMMEDIATE');
    await untilPasses(() => expect(size()).to.be.greaterThan(490 * 4096));
    db.exec('COMMIT');
    await thread.close();
    checkpoints.wrote(10_000);
    db.close();
    expect(existsSync(`${path}-wal`)).to.equal(false);
  });

  it('are left to the writer when the thread fails', async () => {
    const logger = testLogger();
    const thread = new MaintenanceThread();
    const checkpoints = new Checkpoints(join(folder, 'no', 'such.db'), thread, logger);
    checkpoints.wrote(500);
    await untilPasses(() => expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']));
    checkpoints.wrote(500);
    await thread.close();
  });

  it('are tried again after a failure, which is logged once', async () => {
    const logger = testLogger();
    const thread = new MaintenanceThread();
    const path = join(folder, 'later', 'any.db');
    const checkpoints = new Checkpoints(path, thread, logger);
    /** Runs one checkpoint, and resolves when the thread has answered it. */
    const attempt = async (): Promise<void> => {
      checkpoints.wrote(500);
      // Answers come in order, so the checkpoint before this task has been answered.
      await thread.run({ kind: 'checkpoint', path: join(folder, 'other.db') });
    };
    await attempt();
    await attempt();
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
    mkdirSync(join(folder, 'later'));
    const db = new DatabaseSync(path);
    db.exec('PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0; CREATE TABLE t (text)');
    const before = statSync(path).size;
    db.prepare('INSERT INTO t VALUES (?)').run('x'.repeat(400_000));
    await attempt();
    expect(statSync(path).size).to.be.greaterThan(before);
    await thread.close();
    db.close();
  });

  it('do not fail a write when the system starts no thread', async () => {
    const logger = testLogger();
    const thread = new MaintenanceThread();
    const { Worker } = threads;
    threads.Worker = class extends Worker {
      constructor() {
        super('no path, which throws');
      }
    };
    syncBuiltinESMExports();
    try {
      const checkpoints = new Checkpoints(join(folder, 'any.db'), thread, logger);
      expect(() => checkpoints.wrote(500)).not.to.throw();
      await untilPasses(() => expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']));
    } finally {
      threads.Worker = Worker;
      syncBuiltinESMExports();
    }
    await thread.close();
  });

  it('keep the write-ahead log of the event store short', async () => {
    const path = join(folder, 'events.db');
    const store = openSqliteEventStore({ path });
    let longest = 0;
    for (let stream = 0; stream < 60; stream += 1) {
      await store.append(`a.s-${stream}`, 'no_stream', events(500));
      longest = Math.max(longest, statSync(`${path}-wal`).size);
    }
    expect(longest).to.be.lessThan(40 * 1024 * 1024);
    await store.close();
    expect(existsSync(`${path}-wal`)).to.equal(false);
    const again = openSqliteEventStore({ path });
    expect(await again.readAll({ limit: 100_000 })).to.have.length(30_000);
    await again.close();
  });
});
