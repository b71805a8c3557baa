import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import { LineThread } from '../../infrastructure/event-store/sqlite/line-thread.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { eventually } from '../support/eventually.ts';
import { testLogger } from '../support/fakes.ts';
import { events } from './event-store-parts/helpers.ts';

describe('The thread that makes lines of the SQLite event log', function () {
  this.timeout(60_000);
  let folder: string;
  let path: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lines-'));
    path = join(folder, 'events.db');
    const store = openSqliteEventStore({ path });
    await store.append('acme.x-1', 'no_stream', events(100));
    await store.close();
  });
  after(() => rm(folder, { recursive: true }));

  const asked = (thread: LineThread) => thread.ask(0, 100, { streamPrefix: 'acme.' });
  const answered = (thread: LineThread) =>
    eventually(async () => {
      const page = await asked(thread);
      expect(page?.events).to.equal(100);
    });

  it('begins when it is asked, ends when it is not, and begins again', async () => {
    const thread = new LineThread({ path, members: [] }, undefined, 200);
    expect(asked(thread)).to.equal(undefined);
    await answered(thread);
    await eventually(async () => expect(thread.isRunning).to.equal(false));
    await answered(thread);
    await thread.close();
    expect(asked(thread)).to.equal(undefined);
  });

  it('leaves no question without an answer when it is closed', async () => {
    const thread = new LineThread({ path, members: [] }, undefined);
    await answered(thread);
    const questions = Array.from({ length: 50 }, () => asked(thread));
    await thread.close();
    const pages = await Promise.all(questions);
    expect(pages).to.have.length(50);
    expect(pages.at(-1)).to.equal(undefined);
  });

  it('is not asked again when it fails, and says so once', async () => {
    const logger = testLogger();
    const thread = new LineThread({ path: join(folder, 'none', 'events.db'), members: [] }, logger);
    expect(asked(thread)).to.equal(undefined);
    await eventually(async () => expect(thread.isRunning).to.equal(false));
    expect(asked(thread)).to.equal(undefined);
    expect(thread.isRunning).to.equal(false);
    // Others come first, however much they have to do.
    expect(thread.waiting).to.equal(Number.POSITIVE_INFINITY);
    expect(logger.lines).to.have.length(1);
    await thread.close();
  });
});
