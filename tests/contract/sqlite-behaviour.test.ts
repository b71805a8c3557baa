import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { type EventStore, type LogGrowth, StoreUnavailable } from '../../application/ports/event-store.ts';
import { LiveLog } from '../../infrastructure/event-store/sqlite/live-log.ts';
import { openDatabase } from '../../infrastructure/event-store/sqlite/schema.ts';
import {
  openSqliteEventStore,
  type SqliteEventStoreOptions,
} from '../../infrastructure/event-store/sqlite/store.ts';
import { severalTicks } from '../support/eventually.ts';
import { testLogger } from '../support/fakes.ts';
import { event, events, follow, followerOf, idsOf, race, rejection } from './event-store-parts/helpers.ts';

describe('SQLite event store: own behaviour', () => {
  let folder = '';
  let path = '';
  const stores: EventStore[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'event-store-'));
    path = join(folder, 'events.db');
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    rmSync(folder, { recursive: true });
  });

  function open(options: Partial<SqliteEventStoreOptions> = {}): EventStore {
    const store = openSqliteEventStore({ path, ...options });
    stores.push(store);
    return store;
  }

  it('gives the same objects to all followers of one process', async () => {
    const store = open();
    const follower = followerOf(store);
    const live = ['a.', ''].map((streamPrefix) =>
      follow(store, { filter: { streamPrefix } }, (all) => all.length >= 5, follower),
    );
    await store.append('a.s-1', 'no_stream', events(5));
    const [one, two] = await Promise.all(live);
    expect(one?.events).to.have.length(5);
    for (const [n, seen] of (one?.events ?? []).entries()) expect(seen).to.equal(two?.events[n]);
  });

  it('gives the same result from cache and file, across skipped blocks', async () => {
    const writer = open();
    for (let n = 0; n < 12; n += 1) {
      await writer.append(`bulk${n % 3}.s-1`, 'any', events(999, `Type${n}`));
      await writer.append(`rare${n % 5}.s-${n}`, 'any', [event('Rare')]);
    }
    const reader = open();
    const everything = await writer.readAll({ limit: 20_000 });
    expect(everything).to.have.length(12_000);
    const filters = [
      {},
      { types: ['Rare'] },
      { types: ['Type7', 'Rare'] },
      { streamPrefix: 'rare3.' },
      { streamPrefix: 'rare' },
      { streamPrefix: 'bulk2.', types: ['Type2', 'Type4', 'Type11'] },
      { streamPrefix: 'rare1.', types: ['Type1'] },
    ];
    for (const filter of filters) {
      const { streamPrefix, types }: { streamPrefix?: string; types?: string[] } = filter;
      const wanted = everything.filter(
        ({ stream, type }) => stream.startsWith(streamPrefix ?? '') && (types?.includes(type) ?? true),
      );
      for (const store of [writer, reader]) {
        expect(await store.readAll({ filter, limit: 20_000 })).to.deep.equal(wanted);
        expect(await store.readAll({ filter, limit: 20_000, direction: 'backward' })).to.deep.equal(
          wanted.toReversed(),
        );
        const { events: seen } = await follow(store, { filter }, (_, batch) => batch.caughtUp);
        expect(seen).to.deep.equal(wanted);
      }
    }
  });

  it('follows the log after another connection has written more than the buffer holds', async () => {
    const [one, two] = [open(), open()];
    await one.append('a.s-1', 'any', events(10));
    const following = follow(one, {}, (all) => all.length >= 10_030);
    for (let n = 0; n < 10; n += 1) await two.append('a.s-2', 'any', events(1000));
    await one.append('a.s-1', 'any', events(10));
    await two.append('a.s-1', 'any', events(10));
    const { events: seen } = await following;
    expect(seen).to.deep.equal(await two.readAll({ limit: 20_000 }));
  });

  it('announces its own appends with their events, also when the log is read before the announcement', async () => {
    const store = open();
    const announced = new Promise<LogGrowth | undefined>((resolve) => store.onGrowth(resolve));
    const appended = events(2);
    await store.append('a.s-1', 'no_stream', appended);
    expect(await store.readAll()).to.have.length(2);
    expect(idsOf((await announced)?.events ?? [])).to.deep.equal(idsOf(appended));
  });

  it('notifies followers of another connection’s writes when an append finds them', async () => {
    const [one, two] = [open({ pollMs: 3_600_000 }), open()];
    const following = follow(one, {}, (all) => all.length >= 2);
    await one.append('a.s-1', 'no_stream', [event()]);
    await two.append('a.s-1', 0, [event()]);
    await rejection(one.append('a.s-1', 0, [event()]));
    expect((await following).events).to.have.length(2);
  });

  it('only logs that the file cannot be read when it looks for other writes after refused appends', async () => {
    const logger = testLogger();
    const db = openDatabase(path);
    const log = new LiveLog(db, { pollMs: 3_600_000, logger });
    log.announce({ outcomes: [], first: 1, events: [] });
    db.close();
    await severalTicks();
    expect(logger.lines.map(({ level }) => level)).to.deep.equal(['warn']);
  });

  it('refuses appends on a full disk without writing, and continues when there is space', async () => {
    const store = open({ maxPages: 60 });
    const stored: string[] = [];
    let refused: unknown;
    while (refused === undefined) {
      const batch = events(3).map((one) => ({ ...one, data: JSON.stringify('x'.repeat(5000)) }));
      try {
        await store.append('a.s-1', 'any', batch);
        stored.push(...idsOf(batch));
      } catch (error) {
        refused = error;
      }
    }
    expect(refused).to.be.instanceOf(StoreUnavailable);
    expect(idsOf(await store.readStream('a.s-1'))).to.deep.equal(stored);
    const { events: seen } = await follow(store, {}, (_, batch) => batch.caughtUp);
    expect(idsOf(seen)).to.deep.equal(stored);
    await store.close();
    const roomy = open();
    await roomy.append('a.s-1', stored.length - 1, events(2));
    expect(await roomy.readStream('a.s-1')).to.have.length(stored.length + 2);
  });

  it('refuses only those of many appends that exceed the space', async () => {
    const store = open({ maxPages: 60 });
    // More events than one transaction holds.
    const small = Array.from({ length: 512 }, (_, n) => ({
      stream: `a.s-${n}`,
      expected: 'no_stream' as const,
      events: events(1),
    }));
    const big = {
      stream: 'a.big',
      expected: 'no_stream' as const,
      events: events(3).map((one) => ({ ...one, data: JSON.stringify('x'.repeat(120_000)) })),
    };
    const settled = await Promise.allSettled(
      [...small, big].map(({ stream, expected, events: news }) => store.append(stream, expected, news)),
    );
    expect(settled.filter(({ status }) => status === 'fulfilled')).to.have.length(small.length);
    const last = settled.at(-1);
    expect(last?.status === 'rejected' && last.reason).to.be.instanceOf(StoreUnavailable);
    expect(await store.readStream('a.big')).to.deep.equal([]);
    for (const { stream, events: news } of small) {
      const stored = idsOf(await store.readStream(stream));
      expect(stored).to.deep.equal(idsOf(news));
    }
    await store.close();
    expect(await rejection(store.append('a.late', 'no_stream', events(1)))).to.be.instanceOf(
      StoreUnavailable,
    );
  });

  it('waits for another process’s lock, up to its timeout', async () => {
    const store = open({ lockTimeoutMs: 200 });
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const [one] = events(1);
    if (!one) throw new Error('one event');
    expect(await rejection(store.append('a.s-1', 'no_stream', [one]))).to.be.instanceOf(StoreUnavailable);
    const waiting = store.append('a.s-1', 'no_stream', [one]);
    expect(await store.readStream('a.s-1')).to.deep.equal([]);
    other.exec('COMMIT');
    other.close();
    expect((await waiting).revision).to.equal(0);
  });

  it('writes queued appends before it closes, and refuses later ones', async () => {
    const store = open();
    const stopping = new AbortController();
    const following = followerOf(store).run({ signal: stopping.signal }, () => undefined);
    const queued = race(store, 'a.', { writers: 8, each: 1 });
    await Promise.all([store.close(), store.close()]);
    const written = await queued;
    stopping.abort();
    await following;
    for (const call of [
      store.append('a.s-1', 'any', [event()]),
      store.readStream('a.s-1'),
      store.readAll(),
    ]) {
      expect(await rejection(call)).to.be.instanceOf(StoreUnavailable);
    }
    expect(idsOf(await open().readAll()).toSorted()).to.deep.equal(written.toSorted());
  });

  it('cannot be opened in a missing folder, or on a file of another schema', () => {
    expect(() => open({ path: join(folder, 'none', 'events.db') })).to.throw(StoreUnavailable);
    const other = new DatabaseSync(path);
    other.exec('PRAGMA user_version = 99');
    other.close();
    // Not `StoreUnavailable`, for which a start would wait.
    expect(() => open())
      .to.throw('schema 99')
      .that.is.not.instanceOf(StoreUnavailable);
  });
});
