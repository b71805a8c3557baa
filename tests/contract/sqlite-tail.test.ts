import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { EventStore, StoredEvent } from '../../application/ports/event-store.ts';
import {
  openSqliteEventStore,
  type SqliteEventStoreOptions,
} from '../../infrastructure/event-store/sqlite/store.ts';
import { event, events, follow } from './event-store-parts/helpers.ts';

describe('SQLite event store: what another connection writes, faster than it is followed', () => {
  let folder = '';
  const stores: EventStore[] = [];

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'event-store-'));
  });
  afterEach(async () => {
    for (const store of stores.splice(0)) await store.close();
    rmSync(folder, { recursive: true });
  });

  const open = (options: Partial<SqliteEventStoreOptions> = {}): EventStore => {
    const store = openSqliteEventStore({ path: join(folder, 'events.db'), ...options });
    stores.push(store);
    return store;
  };

  /** Takes batch after batch, with some turns of the loop for each, until it has so many events. */
  const taking = async (store: EventStore, count: number, turns: number): Promise<StoredEvent[]> => {
    const end = new AbortController();
    const all: StoredEvent[] = [];
    for await (const batch of store.subscribe({ signal: end.signal })) {
      all.push(...batch.events);
      if (all.length >= count) end.abort();
      for (let turn = 0; turn < turns; turn += 1) await new Promise((resolve) => setImmediate(resolve));
    }
    return all;
  };

  it('is read once for all who follow at one pace, however far they are behind', async () => {
    const [writer, reader] = [open(), open({ tailEvents: 400 })];
    await writer.append('a.s-1', 'any', events(10));
    const following = [taking(reader, 8010, 2), taking(reader, 8010, 2)];
    for (let n = 0; n < 16; n += 1) await writer.append('a.s-1', 'any', events(500));
    const [one, two] = await Promise.all(following);
    expect(one).to.deep.equal(await writer.readAll({ limit: 20_000 }));
    expect(one?.length).to.equal(two?.length);
    // Those that were there before anybody followed, and what was begun with, may have been read twice.
    const shared = one?.filter((each, nth) => each === two?.[nth]) ?? [];
    expect(shared.length).to.be.greaterThan(7000);
  });

  it('comes to one subscriber while another one stands still, and the two meet again', async () => {
    const [writer, reader] = [open(), open({ tailEvents: 400, pollMs: 5 })];
    await writer.append('a.s-1', 'any', events(10));
    const held = Promise.withResolvers<void>();
    const still = async (): Promise<StoredEvent[]> => {
      const all: StoredEvent[] = [];
      const end = new AbortController();
      for await (const batch of reader.subscribe({ signal: end.signal })) {
        all.push(...batch.events);
        await held.promise;
        if (all.length >= 5011) end.abort();
      }
      return all;
    };
    const slow = still();
    const first = taking(reader, 5010, 0);
    for (let n = 0; n < 10; n += 1) await writer.append('a.s-1', 'any', events(500));
    const all = await first;
    expect(all).to.have.length(5010);
    held.resolve();
    const last = follow(reader, { after: all.at(-1)?.position }, (seen) => seen.length > 0);
    await writer.append('a.s-2', 'any', [event()]);
    expect((await last).events).to.have.length(1);
    expect(await slow).to.deep.equal(await writer.readAll({ limit: 20_000 }));
  });

  it('is followed where events are so large that few of them are read at a time', async () => {
    const [writer, reader] = [open(), open({ tailEvents: 400, pollMs: 5 })];
    await writer.append('a.s-1', 'any', events(10));
    const following = [taking(reader, 34, 1), taking(reader, 34, 2)];
    const large = JSON.stringify({ text: 'x'.repeat(400_000) });
    for (let n = 0; n < 24; n += 1) await writer.append('a.s-1', 'any', [event('Large', large)]);
    const [one, two] = await Promise.all(following);
    expect(one).to.deep.equal(await writer.readAll({ limit: 100 }));
    expect(two).to.deep.equal(one);
  });
});
