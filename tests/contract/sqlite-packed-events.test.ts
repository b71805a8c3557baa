import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import fc from 'fast-check';
import { EventRows } from '../../infrastructure/event-store/sqlite/event-rows.ts';
import { Packing } from '../../infrastructure/event-store/sqlite/packing/packing.ts';
import { packNewEvents } from '../../infrastructure/event-store/sqlite/schema.ts';
import { openSqliteEventStore } from '../../infrastructure/event-store/sqlite/store.ts';

const newShapes = (): DatabaseSync => {
  const db = new DatabaseSync(':memory:');
  db.exec('CREATE TABLE shapes (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE)');
  return db;
};

const uuids = fc.uuid();
const hashes = fc
  .uint8Array({ minLength: 32, maxLength: 32 })
  .map((bytes) => Buffer.from(bytes).toString('hex'));
const times = fc.date({ noInvalidDate: true }).map((at) => at.toISOString());
const sealed = fc
  .tuple(uuids, fc.nat(200), fc.uint8Array({ maxLength: 400 }))
  .map(([page, slot, bytes]) => `v1:acme/message-${page}.${slot}:${Buffer.from(bytes).toString('base64')}`);
/** Strings that differ in one place from ids, hashes, times and sealed texts, which have tokens of their own. */
const nearly = fc
  .tuple(
    fc.oneof(uuids, hashes, times, sealed),
    fc.nat(80),
    fc.constantFrom('"', '\\', 'g', '-', ':', '=', 'é', ''),
  )
  .map(([text, at, other]) => text.slice(0, at) + other + text.slice(at + 1));
const strings = fc.oneof(
  uuids,
  hashes,
  times,
  sealed,
  nearly,
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc.constantFrom(
    '',
    'acme',
    '"',
    '\\',
    'v1:',
    '"v1:a:',
    'a'.repeat(36),
    '-'.repeat(200),
    'x'.repeat(17_000),
  ),
);
const { value } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    strings,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.constantFrom(null, true, false),
    fc.array(tie('value'), { maxLength: 5 }),
    fc.dictionary(strings, tie('value'), { maxKeys: 6 }),
  ),
}));
const objects = fc.dictionary(fc.oneof(fc.constantFrom('body', 'hash', 'id', 'tenant_id'), strings), value);
const texts = fc.oneof(
  objects.map((each) => JSON.stringify(each)),
  objects.map((each) => JSON.stringify(each, undefined, 1)),
  fc.string({ unit: 'grapheme' }),
  fc.constantFrom(
    '',
    '{',
    '{"',
    '{"a',
    '{"a":',
    '{"a":1',
    '{}',
    '[]',
    '{"a":1}}',
    '{"a":{"b":1}',
    'null',
    '{"a":"\\',
  ),
);
const streams = fc.oneof(
  uuids.map((id) => `acme.conversation-${id}`),
  fc.constantFrom('acme.x', 'nodot', 'é.user-1', `acme.user-${'0'.repeat(300)}`),
);
const events = fc.record({ id: fc.oneof(uuids, fc.constant('no-uuid')), data: texts, metadata: texts });

describe('Packed events', () => {
  it('come back byte for byte, whatever texts they hold, also through another connection', () => {
    const db = newShapes();
    const [packing, other] = [new Packing(db), new Packing(db)];
    let packed = 0;
    fc.assert(
      fc.property(streams, events, fc.nat(3), (stream, event, type) => {
        const bytes = packing.pack(stream, { ...event, type: 'T' }, type + 1);
        const isLong = event.data.length + event.metadata.length > 16 * 1024 || stream.length > 256;
        expect(bytes === undefined).to.equal(isLong || event.id === 'no-uuid');
        if (bytes === undefined) return;
        packed += 1;
        for (const each of [packing, other])
          expect(each.unpack(stream, Uint8Array.from(bytes))).to.deep.equal(event);
      }),
      { numRuns: 3_000 },
    );
    expect(packed).to.be.greaterThan(500);
  });

  it('take less than half of the space of their texts', () => {
    const packing = new Packing(newShapes());
    const uuid = '9aba9d9a-13f1-54d9-bab0-f0fe0b2b16b0';
    const key = `message-c40a60d6-e11d-4b3d-9b81-8e933492e60d.21`;
    const body = `v1:acme/${key}:${Buffer.alloc(113, 7).toString('base64')}`;
    const data = {
      body,
      conversation_id: uuid,
      mentioned_user_ids: [],
      message_id: uuid,
      sender_user_id: 'ada',
    };
    const metadata = {
      $causationId: uuid,
      $correlationId: uuid,
      hash: 'ab'.repeat(32),
      prev_hash: 'cd'.repeat(32),
    };
    const event = {
      id: uuid,
      type: 'MessageSent',
      data: JSON.stringify({ ...data, text_key: key }),
      metadata: JSON.stringify({ ...metadata, occurred_at: '2026-11-24T14:55:55.570Z', tenant_id: 'acme' }),
    };
    const bytes = packing.pack(`acme.conversation-${uuid}`, event, 1);
    expect(bytes?.length).to.be.lessThan((event.data.length + event.metadata.length) / 2.4);
  });

  it('with damaged bytes are read as some text, and never stop a read of other events', () => {
    const packing = new Packing(newShapes());
    const event = {
      id: '9aba9d9a-13f1-54d9-bab0-f0fe0b2b16b0',
      data: '{"a":"b","c":[1,"x"]}',
      metadata: '{"hash":"a"}',
    };
    const packed = Uint8Array.from(packing.pack('acme.x', { ...event, type: 'T' }, 1) ?? []);
    const rows = new EventRows(newShapes());
    fc.assert(
      fc.property(fc.nat(packed.length - 1), fc.nat(255), fc.nat(packed.length), (at, byte, length) => {
        const bytes = packed.slice(0, length);
        bytes[at] = byte;
        const { id, data, metadata } = rows.texts('acme.x', '', bytes, '');
        expect([typeof id, typeof data, typeof metadata]).to.deep.equal(['string', 'string', 'string']);
      }),
    );
  });

  it('use only stored shapes after a rollback has removed a shape that was added', () => {
    const db = newShapes();
    const rows = new Packing(db);
    const event = (member: string) => ({
      id: '9aba9d9a-13f1-54d9-bab0-f0fe0b2b16b0',
      type: 'T',
      data: `{"${member}":1}`,
      metadata: '{}',
    });
    db.exec('BEGIN');
    rows.pack('acme.x', event('lost'), 1);
    db.exec('ROLLBACK');
    rows.shapes.clear();
    const kept = Uint8Array.from(rows.pack('acme.x', event('kept'), 1) ?? []);
    expect(new Packing(db).unpack('acme.x', kept).data).to.equal('{"kept":1}');
  });
});

describe('A log of the first version', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'log-form-'));
  });
  afterEach(() => rm(folder, { recursive: true }));

  const path = () => join(folder, 'events.db');
  const forms = (): unknown[] => {
    const db = new DatabaseSync(path(), { readOnly: true });
    const rows = db.prepare('SELECT typeof(data) AS form FROM events ORDER BY position').all();
    db.close();
    return rows.map(({ form }) => form);
  };
  const event = (nth: number) => ({
    id: `9aba9d9a-13f1-54d9-bab0-f0fe0b2b16b${nth}`,
    type: 'Noted',
    data: `{"note":"${'long enough to gain '.repeat(20)}${nth}"}`,
    metadata: `{"hash":"${String(nth).repeat(64)}"}`,
  });

  it('stays readable for a former build until it is packed, also while servers run, and loses nothing', async () => {
    const made = openSqliteEventStore({ path: path() });
    await made.close();
    const db = new DatabaseSync(path());
    // The file as a former build leaves it.
    db.exec('DROP TABLE shapes; PRAGMA user_version = 1');
    db.close();
    const [one, two] = [openSqliteEventStore({ path: path() }), openSqliteEventStore({ path: path() })];
    await one.append('acme.note-1', 'no_stream', [event(0)]);
    await two.append('acme.note-1', 0, [event(1)]);
    expect(forms()).to.deep.equal(['text', 'text']);
    expect(packNewEvents(path())).to.equal(true);
    expect(packNewEvents(path())).to.equal(false);
    await two.append('acme.note-1', 1, [event(2)]);
    await one.append('acme.note-1', 2, [event(3)]);
    expect(forms()).to.deep.equal(['text', 'text', 'blob', 'blob']);
    // A retry finds its packed event.
    expect(await one.append('acme.note-1', 2, [event(3)])).to.deep.include({ revision: 3 });
    for (const store of [one, two]) {
      const read = await store.readAll();
      expect(read.map(({ id, type, data, metadata }) => ({ id, type, data, metadata }))).to.deep.equal(
        [0, 1, 2, 3].map(event),
      );
      await store.close();
    }
  });
});
