import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'chai';
import type { EventStore, Position, StoredEvent } from '../../../application/ports/event-store.ts';
import { openEventStoreDbImport } from '../../../infrastructure/event-store/eventstoredb/import.ts';
import { openEventStoreDb } from '../../../infrastructure/event-store/eventstoredb/store.ts';
import type { LogImport } from '../../../infrastructure/event-store/log-import.ts';
import { formatPosition } from '../../../infrastructure/event-store/positions.ts';
import { openSqliteImport } from '../../../infrastructure/event-store/sqlite/import.ts';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { serveHere } from '../../support/eventstoredb/serve.ts';
import { describedLog, exportedEvents, importAll, isNew } from '../../support/imported-logs.ts';

interface Target {
  readonly openImport: () => LogImport;
  readonly open: () => EventStore;
  readonly end: () => Promise<void>;
}

const sqlite = async (): Promise<Target> => {
  const folder = await mkdtemp(join(tmpdir(), 'import-'));
  const path = join(folder, 'events.db');
  return {
    openImport: () => openSqliteImport(path),
    open: () => openSqliteEventStore({ path }),
    end: () => rm(folder, { recursive: true }),
  };
};

const eventStoreDb = async (): Promise<Target> => {
  const server = await serveHere();
  return {
    openImport: () => openEventStoreDbImport(server.url),
    open: () => openEventStoreDb({ url: server.url }),
    end: () => server.stop(),
  };
};

const rejected = async (work: Promise<unknown>): Promise<string> => {
  try {
    await work;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
  throw new Error('expected a rejection');
};

const newEvent = (n: number) => ({
  id: crypto.randomUUID(),
  type: 'NoteTaken',
  data: JSON.stringify({ n }),
  metadata: '{"tenant_id":"t0"}',
});

for (const [name, start] of Object.entries({ SQLite: sqlite, EventStoreDB: eventStoreDb })) {
  for (const [positions, gap, count] of [
    ['without gaps', 1, 600],
    // More than a page of the import (1000).
    ['with gaps', 497, 1100],
    ['beyond those of the target', 10_000_000, 600],
  ] as const) {
    describe(`An imported log on ${name}, positions ${positions}`, () => {
      const events = exportedEvents(count, gap);
      let target: Target;
      let store: EventStore;

      before(async () => {
        target = await start();
        await importAll(target.openImport(), events);
        store = target.open();
      });
      after(async () => {
        await store?.close();
        await target?.end();
      });

      it('returns every event unchanged, with its position, in both directions', async () => {
        const limit = 5000;
        expect(await store.readAll({ limit })).to.deep.equal(events);
        const backward = await store.readAll({ limit, direction: 'backward' });
        expect(backward).to.deep.equal(events.toReversed());
        expect(await store.end()).to.equal(events.at(-1)?.position);
        const [stream = ''] = events.map((event) => event.stream);
        expect(await store.readStream(stream)).to.deep.equal(events.filter((one) => one.stream === stream));
      });

      it('reads from any position, in pages of any size', async () => {
        for (const at of [0, 1, 255, 256, 257, 500, count - 2, count - 1]) {
          const from = events[at]?.position;
          const next = events.slice(at + 1, at + 8);
          expect(await store.readAll({ from, limit: 7 }), `after ${at}`).to.deep.equal(next);
          const before = events.slice(Math.max(0, at - 7), at).toReversed();
          const backward = await store.readAll({ from, limit: 7, direction: 'backward' });
          expect(backward, `before ${at}`).to.deep.equal(before);
        }
        const found: StoredEvent[] = [];
        for (let from: Position | undefined; ; ) {
          const page = await store.scanAll({ from, limit: 90 }, 200);
          found.push(...page.events);
          if (page.next === undefined) break;
          from = page.next;
        }
        expect(found).to.deep.equal(events);
      });

      it('reads from a position without an event', async () => {
        if (gap === 1) return;
        for (const at of [0, 255, 256, 500, count - 2]) {
          const from = store.parsePosition(formatPosition((at + 1) * gap + 1));
          expect(await store.readAll({ from, limit: 3 })).to.deep.equal(events.slice(at + 1, at + 4));
          const backward = await store.readAll({ from, limit: 2, direction: 'backward' });
          expect(backward, `before ${at}`).to.deep.equal(
            events.slice(Math.max(0, at - 1), at + 1).toReversed(),
          );
        }
      });

      it('selects by stream and type from any position', async () => {
        for (const at of [undefined, 3, 300, count - 100]) {
          const from = at === undefined ? undefined : events[at]?.position;
          const rest = events.slice(at === undefined ? 0 : at + 1);
          const limit = 5000;
          const streamPrefix = 't1.';
          const own = rest.filter(({ stream }) => stream.startsWith(streamPrefix));
          expect(await store.readAll({ from, limit, filter: { streamPrefix } })).to.deep.equal(own);
          const types = ['NoteRemoved'];
          const removed = rest.filter(({ type }) => type === 'NoteRemoved');
          expect(await store.readAll({ from, limit, filter: { types } })).to.deep.equal(removed);
        }
      });

      it('acknowledges a repeated append of an imported event with its position', async () => {
        const first = events.find(({ revision }) => revision === 0);
        if (first === undefined) throw new Error('no first event');
        const { stream, revision, position, ...event } = first;
        expect(await store.append(stream, 'no_stream', [event])).to.deep.equal({ revision, position });
      });

      it('continues after the imported events', async () => {
        const stream = events.at(-1)?.stream ?? '';
        const last = events.filter((one) => one.stream === stream).at(-1)?.revision ?? 0;
        const added = [newEvent(1), newEvent(2)];
        const { position } = await store.append(stream, last, added);
        const end = events.at(-1)?.position ?? '';
        expect(position > end).to.equal(true);
        const after = await store.readAll({ from: events.at(-1)?.position });
        expect(after.map(({ id }) => id)).to.deep.equal(added.map(({ id }) => id));
        expect(after.at(-1)?.position).to.equal(position);
        expect(await store.end()).to.equal(position);
        expect(await store.readAll({ from: after[0]?.position })).to.deep.equal(after.slice(1));
        const both = await store.readAll({ direction: 'backward', limit: 3 });
        expect(both).to.deep.equal([...after.toReversed(), events.at(-1)]);
      });
    });
  }

  describe(`An import into ${name}`, () => {
    const events = exportedEvents(300, 50);
    let target: Target;

    beforeEach(async () => {
      target = await start();
    });
    afterEach(() => target.end());

    it('continues after an interruption, and opens the store only at its end', async () => {
      const log = describedLog(events);
      const first = target.openImport();
      expect(await first.begin(log, isNew)).to.deep.equal({ isComplete: false, last: undefined });
      await first.append(events.slice(0, 120));
      await first.close();
      const opening = (async () => {
        const store = target.open();
        try {
          await store.end();
        } finally {
          await store.close();
        }
      })();
      expect(await rejected(opening)).to.match(/was not completed/);
      const second = target.openImport();
      const wasAsked = async (): Promise<void> => {
        throw new Error('asked again');
      };
      expect(await second.begin(log, wasAsked)).to.deep.equal({
        isComplete: false,
        last: events[119]?.position,
      });
      expect(await rejected(second.finish(log))).to.match(/holds 120 of 300/);
      await second.append(events.slice(120));
      await second.finish(log);
      await second.finish(log);
      expect(await second.begin(log, wasAsked)).to.deep.equal({
        isComplete: true,
        last: events.at(-1)?.position,
      });
      await second.close();
      const store = target.open();
      expect(await store.readAll({ limit: 500 })).to.deep.equal(events);
      await store.close();
    });

    it('refuses another export, a store with events, and a stream with a gap', async () => {
      const store = target.open();
      const { position } = await store.append('t0.note-1', 'no_stream', [newEvent(1)]);
      await store.close();
      const occupied = target.openImport();
      expect(await rejected(occupied.begin(describedLog(events), isNew))).to.match(/is not empty/);
      await occupied.close();
      const still = target.open();
      expect((await still.readAll()).map((one) => one.position)).to.deep.equal([position]);
      await still.close();
      await target.end();
      target = await start();
      const fresh = target.openImport();
      await fresh.begin(describedLog(events), isNew);
      expect(await rejected(fresh.begin(describedLog(events), isNew))).to.match(/another export/);
      const gap = events
        .slice(0, 100)
        .filter(({ stream, revision }) => stream !== 't0.note-0' || revision !== 1);
      expect(await rejected(fresh.append(gap))).to.match(/revision/);
      await fresh.close();
    });

    it('accepts an empty log', async () => {
      await importAll(target.openImport(), []);
      const store = target.open();
      expect(await store.readAll()).to.deep.equal([]);
      await store.append('t0.note-1', 'no_stream', [newEvent(1)]);
      expect(await store.readAll()).to.have.length(1);
      await store.close();
    });
  });
}
