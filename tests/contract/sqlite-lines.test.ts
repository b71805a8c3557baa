import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { Replay } from '../../application/audit/replay.ts';
import { type EventStore, type LineOptions, StoreUnavailable } from '../../application/ports/event-store.ts';
import { KeyRing } from '../../application/sealing.ts';
import { catalogue } from '../../domain/catalogue.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';
import { fillAuditLog } from '../support/audit-log.ts';
import { memoryKeyStore } from '../support/fakes.ts';
import { MASTER_KEY } from '../support/node.ts';

/** More pages than are made without a thread. */
const EVENTS = 12_000;

/** The embedded store makes the lines of an export itself, and in threads when they are many. */
describe('The lines of the SQLite event store', function () {
  this.timeout(120_000);
  let folder: string;
  let path: string;
  let store: EventStore;
  const keyStore = memoryKeyStore();

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'lines-'));
    path = join(folder, 'events.db');
    store = openSqliteEventStore({ path });
    await fillAuditLog(store, keyStore, 'acme', EVENTS, 40);
    await fillAuditLog(store, keyStore, 'other', 2000, 40);
    await fillAuditLog(store, keyStore, 'acme', 100, 10);
  });
  after(async () => {
    await store.close();
    await rm(folder, { recursive: true });
  });

  const exportOf = (events: EventStore, query = {}) =>
    new Replay({ events, catalogue, keys: new KeyRing(keyStore, MASTER_KEY) }).export('acme', query);
  const whole = async (pieces: AsyncIterable<Uint8Array>): Promise<Buffer> => {
    const all: Uint8Array[] = [];
    for await (const piece of pieces) all.push(Buffer.from(piece));
    return Buffer.concat(all);
  };
  /** The store without what it makes itself. */
  const plain = (): EventStore => {
    const { lines, ...rest } = store;
    expect(lines).to.be.a('function');
    return rest;
  };
  const optionsOf = async (): Promise<LineOptions> => {
    const until = await store.head();
    if (until === undefined) throw new Error('the log is empty');
    return { after: undefined, until, filter: { streamPrefix: 'acme.' }, members: [] };
  };

  it('are the bytes that reading the events gives, of all of them, of a type, and from each place on', async () => {
    const expected = await whole(exportOf(plain()));
    expect(expected.toString('utf8').split('\n')).to.have.length(EVENTS + 101);
    // The second is made in threads from its beginning.
    for (let nth = 0; nth < 2; nth += 1)
      expect((await whole(exportOf(store))).equals(expected)).to.equal(true);
    const lines = expected.toString('utf8').split('\n');
    for (const at of [0, 511, 512, 5000, EVENTS - 1, EVENTS + 99]) {
      const after = store.parsePosition(JSON.parse(lines[at] ?? '').position);
      const rest = await whole(exportOf(store, { after }));
      expect(rest.toString('utf8')).to.equal(lines.slice(at + 1).join('\n'));
    }
    const type = 'MessageSent';
    const ofType = await whole(exportOf(store, { type }));
    expect(ofType.equals(await whole(exportOf(plain(), { type })))).to.equal(true);
    expect(await whole(exportOf(store, { type: 'Unheard' }))).to.have.length(0);
  });

  it('are the same for several who ask at once, at different speeds, of whom some leave', async () => {
    const expected = await whole(exportOf(store));
    const slow = async () => {
      const all: Buffer[] = [];
      for await (const piece of exportOf(store)) {
        all.push(Buffer.from(piece));
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
      return Buffer.concat(all);
    };
    const leaving = async () => {
      let pieces = 0;
      for await (const _piece of exportOf(store)) if (++pieces === 12) break;
      return pieces;
    };
    const [a, b, c, ...left] = await Promise.all([
      whole(exportOf(store)),
      slow(),
      slow(),
      leaving(),
      leaving(),
      leaving(),
    ]);
    for (const one of [a, b, c]) expect(one.equals(expected)).to.equal(true);
    expect(left).to.deep.equal([12, 12, 12]);
  });

  it('stay what they are until the next ones are pulled, however much is made meanwhile', async () => {
    const expected = await whole(exportOf(store));
    for (const query of [{}, { type: 'ConversationStarted' }]) {
      const copies: Buffer[] = [];
      for await (const piece of exportOf(store, query)) {
        copies.push(Buffer.from(piece));
        // The threads make what is ahead.
        if (copies.length % 5 === 0) await new Promise((resolve) => setTimeout(resolve, 30));
        expect(copies.at(-1)?.equals(piece)).to.equal(true);
      }
      const all = 'type' in query ? await whole(exportOf(plain(), query)) : expected;
      expect(Buffer.concat(copies).equals(all)).to.equal(true);
    }
  });

  it('are left at any piece, also while the one after it cannot be made, without a trace', async () => {
    const unhandled: unknown[] = [];
    const note = (reason: unknown) => unhandled.push(reason);
    process.on('unhandledRejection', note);
    try {
      for (const most of [1, 2, 9, 20]) {
        const closing = openSqliteEventStore({ path });
        const pieces = exportOf(closing);
        for (let nth = 0; nth < most; nth += 1) expect((await pieces.next()).done).to.equal(false);
        await closing.close();
        await new Promise((resolve) => setTimeout(resolve, 20));
        await pieces.return();
        expect(await pieces.next()).to.deep.equal({ done: true, value: undefined });
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    } finally {
      process.off('unhandledRejection', note);
    }
    expect(unhandled).to.deep.equal([]);
  });

  it('are made elsewhere: others are answered meanwhile', async () => {
    await whole(exportOf(store));
    const delay = monitorEventLoopDelay({ resolution: 5 });
    delay.enable();
    for (let nth = 0; nth < 3; nth += 1) await whole(exportOf(store));
    delay.disable();
    // A page of all events at once would hold everybody up for longer, also on a busy machine.
    expect(delay.percentile(90) / 1e6).to.be.lessThan(100);
  });

  it('end with an error, and not as if they were whole, when the store is closed', async () => {
    const closing = openSqliteEventStore({ path });
    const { lines } = closing;
    if (lines === undefined) throw new Error('the store makes no lines');
    const options = await optionsOf();
    const read = async (): Promise<string> => {
      let pages = 0;
      for await (const _page of lines(options)) if (++pages === 12) await closing.close();
      return 'ended';
    };
    expect(await read().catch((error: Error) => error.message)).to.equal('the event store is closed');
  });

  describe('of rows that were changed in the file', () => {
    const CHANGES = [
      ['no UTF-8', `UPDATE events SET data = CAST(x'7b2261223a22ff227d' AS TEXT) WHERE position = 700`],
      [
        'half a surrogate pair',
        `UPDATE events SET data = CAST(x'7b2261223a22eda080227d' AS TEXT) WHERE position = 700`,
      ],
      ['a zero byte', `UPDATE events SET data = data || char(0) WHERE position = 700`],
      [
        'a zero byte in the metadata',
        `UPDATE events SET metadata = '{"a":"' || char(0) || '"}' WHERE position = 700`,
      ],
      ['a line feed', `UPDATE events SET data = '{' || char(10) || substr(data, 2) WHERE position = 700`],
      [
        'lines within',
        `UPDATE events SET data = data || ',"metadata":{}' || char(10) || '{"position":"x","data":{}' WHERE position = 700`,
      ],
      ['members within', `UPDATE events SET data = data || ',"metadata":{"x":1}' WHERE position = 700`],
      ['no JSON', `UPDATE events SET data = 'no JSON', metadata = '' WHERE position = 700`],
      ['a number', `UPDATE events SET id = 5 WHERE position = 700`],
      ['a long text', `UPDATE events SET data = json_object('x', hex(zeroblob(40000))) WHERE position = 700`],
      [
        'an odd stream',
        `UPDATE streams SET name = 'acme.{"data":{' WHERE id = (SELECT stream_id FROM events WHERE position = 700)`,
      ],
      [
        'an odd type',
        `UPDATE types SET name = 'a"{,' || char(10) WHERE id = (SELECT type_id FROM events WHERE position = 700)`,
      ],
      ['no row', `DELETE FROM events WHERE position = 700`],
    ] as const;
    const DAMAGES = [
      ['bytes for a text', `UPDATE events SET data = CAST(data AS BLOB) WHERE position = 700`],
      ['a text for a number', `UPDATE events SET revision = 'five' WHERE position = 700`],
    ] as const;

    /** Of a copy of the log, changed. */
    const withChanged = async (
      change: string,
      look: (changed: EventStore) => Promise<void>,
    ): Promise<void> => {
      const copy = join(folder, `${randomUUID()}.db`);
      const db = new DatabaseSync(path);
      db.exec(`VACUUM INTO '${copy}'`);
      db.close();
      const changing = new DatabaseSync(copy);
      changing.exec(change);
      changing.close();
      const changed = openSqliteEventStore({ path: copy });
      try {
        await look(changed);
      } finally {
        await changed.close();
      }
    };

    for (const [what, change] of CHANGES) {
      it(`are what reading the events gives: ${what}`, () =>
        withChanged(change, async (changed) => {
          const { lines: _made, ...rest } = changed;
          const [one, other] = [await whole(exportOf(changed)), await whole(exportOf(rest))];
          expect(one.equals(other)).to.equal(true);
          for (const line of one.toString('utf8').split('\n').slice(0, -1)) JSON.parse(line);
        }));
    }
    for (const [what, change] of DAMAGES) {
      it(`end before what cannot be read, with an error: ${what}`, () =>
        withChanged(change, async (changed) => {
          const error = await whole(exportOf(changed)).catch((one: unknown) => one);
          expect(error).to.be.instanceOf(StoreUnavailable);
        }));
    }
  });
});
