import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { admin, MAIN } from '../../support/admin-cli.ts';
import { storedEvents } from '../../support/event-rows.ts';
import { findInText } from '../../support/files.ts';
import { eventually, OF_CHILDREN } from '../../support/server.ts';
import { BASE, endWorld, say, startWorld, type World } from '../../support/world.ts';
import { chained, command, copyOf, envOf, type Filled, filled, spoil, tableOf, verify } from './support.ts';

/** Pause between two writes during a check, which takes a second or more. */
const PACE_MS = 20;

const hexOf = (uuid: string | undefined): string => (uuid ?? '').replaceAll('-', '');

/** Checks a data folder for consistency: files, log, chains, keys, read models. */
describe('A check of a data folder', function () {
  this.timeout(300_000);
  let world: World;
  let made: Filled;
  /** The folder after the server has stopped. */
  let dataDir: string;

  before(async () => {
    world = await startWorld();
    made = await filled(world);
  });
  after(endWorld);

  it('finds nothing while a server runs and people write', async () => {
    const stopping = new AbortController();
    const writing = (async () => {
      let sent = 0;
      for (; !stopping.signal.aborted; sent += 1) {
        const { id } = await say(made.ada, made.chat, `meanwhile ${sent}`);
        if (sent % 2 === 0) await made.ada.api.delete(`${BASE}/${made.chat}/messages/${id}`);
        // Leaves the processor to the checks.
        await setTimeout(PACE_MS);
      }
      return sent;
    })();
    const checks = [
      await command(world.server.dataDir, 'compare-read-models'),
      await verify(world.server.dataDir),
    ];
    stopping.abort();
    expect(await writing).to.be.greaterThan(10);
    for (const { code, stdout, stderr } of checks) expect([code, stdout], stderr).to.deep.equal([0, '']);
    expect(checks[1]?.stderr).to.match(/log: \d+ events in \d+ streams/);
  });

  it('finds nothing after a kill or a stop, and changes nothing', async () => {
    await world.server.kill();
    dataDir = world.server.dataDir;
    const killed = await verify(dataDir);
    expect([killed.code, killed.stdout], killed.stderr).to.deep.equal([0, '']);
    await world.restart();
    await world.ready();
    await world.server.stop();
    const stopped = await verify(dataDir);
    expect([stopped.code, stopped.stdout], stopped.stderr).to.deep.equal([0, '']);
    expect(await readdir(join(dataDir, 'scratch'))).to.deep.equal(['lock.db']);
  });

  const faultsOf = async (folder: string, ...more: readonly string[]): Promise<string[]> => {
    const { code, stdout, stderr } = await verify(folder, ...more);
    expect(code, `${stdout}${stderr}`).to.equal(1);
    expect(`${stdout}${stderr}`)
      .not.to.contain(made.content)
      .and.not.to.match(/\n\s+at /);
    return stdout.trimEnd().split('\n');
  };

  /** A stream with several events, and their positions. */
  const chatStream = (db: DatabaseSync) => {
    const name = `${made.tenant.id}.conversation-${made.chat}`;
    const at = (revision: number): number => {
      const row = db
        .prepare(
          'SELECT position FROM events WHERE revision = ? AND stream_id = (SELECT id FROM streams WHERE name = ?)',
        )
        .get(revision, name);
      return Number(row?.position);
    };
    return { name, at };
  };

  it('names the event with a flipped byte', async () => {
    const folder = await copyOf(dataDir);
    const path = join(folder, 'events.db');
    // Unpacks events to texts and empties the write-ahead log, so that the flipped byte is in the table of events only.
    spoil(folder, 'events.db', () => undefined);
    const bytes = readFileSync(path);
    const target = Buffer.from(`"message_id":"${made.sent[2]?.id}"`);
    const at = bytes.indexOf(target);
    expect(at).to.be.greaterThan(0);
    const byte = at + target.length - 3;
    bytes[byte] = bytes[byte] === 0x61 ? 0x62 : 0x61;
    writeFileSync(path, bytes);
    const name = `${made.tenant.id}.conversation-${made.chat}`;
    const faults = await faultsOf(folder, '--no-read-models');
    expect(faults).to.deep.equal([`changed_event ${name}@3: It does not match its hash.`]);
  });

  it('names the packed event with a flipped byte, whatever the byte stands for', async () => {
    const { stream, revision, data } =
      storedEvents(join(dataDir, 'events.db')).find(({ data }) =>
        data.includes(`"message_id":"${made.sent[2]?.id}"`),
      ) ?? expect.fail('the message is not there');
    const body = /"body":"v1:[^:]+:([^"]+)"/.exec(data)?.[1] ?? expect.fail('the message has no text');
    // Skips the first five bytes, which the message's id may share with the event's id.
    const texts = {
      text: Buffer.from(body, 'base64'),
      id: Buffer.from(hexOf(made.sent[2]?.id), 'hex').subarray(5),
    };
    for (const [what, target] of Object.entries(texts)) {
      const folder = await copyOf(dataDir);
      const path = join(folder, 'events.db');
      const db = new DatabaseSync(path);
      db.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      db.close();
      const bytes = readFileSync(path);
      // Searches from the message's text on: other events hold the message's id too, but only this one holds the text.
      const at = bytes.indexOf(target, bytes.indexOf(texts.text));
      expect(at, what).to.be.greaterThan(0);
      bytes[at + 9] = (bytes[at + 9] ?? 0) ^ 1;
      writeFileSync(path, bytes);
      const faults = await faultsOf(folder, '--no-read-models');
      expect(faults, what).to.deep.equal([
        `changed_event ${stream}@${revision}: It does not match its hash.`,
      ]);
    }
  });

  it('names the packed event that cannot be unpacked', async () => {
    const folder = await copyOf(dataDir);
    const path = join(folder, 'events.db');
    const db = new DatabaseSync(path);
    const { name, at } = chatStream(db);
    db.prepare('UPDATE events SET data = substr(data, 1, 60) WHERE position = ?').run(at(2));
    db.close();
    const faults = await faultsOf(folder, '--no-read-models');
    expect(faults).to.deep.equal([`changed_event ${name}@2: It does not match its hash.`]);
  });

  it('names a deleted event, also the last one', async () => {
    const folder = await copyOf(dataDir);
    const { name, last } = spoil(folder, 'events.db', (db) => {
      const chat = chatStream(db);
      db.prepare('DELETE FROM events WHERE position = ?').run(chat.at(2));
      const user = db
        .prepare(
          `SELECT name, max(revision) AS revision, max(position) AS position FROM events JOIN streams ON streams.id = stream_id
           WHERE name LIKE ? GROUP BY stream_id ORDER BY position LIMIT 1`,
        )
        .get(`${made.tenant.id}.user-%`);
      db.prepare('DELETE FROM events WHERE position = ?').run(Number(user?.position));
      return { name: chat.name, last: `${String(user?.name)}@${String(user?.revision)}` };
    });
    const faults = await faultsOf(folder, '--no-read-models');
    expect(faults).to.include(`missing_event ${name}@2: It is missing: ${name}@3 comes instead.`);
    expect(faults.filter((fault) => fault.startsWith('missing_event the log before'))).to.have.length(2);
    expect(faults).to.include(
      `missing_event ${last}: It is missing, although its hash is stored as the head of the stream.`,
    );
  });

  it('names the end of a truncated log, and a dropped stream', async () => {
    const folder = await copyOf(dataDir);
    const dropped = spoil(folder, 'events.db', (db) => {
      const row = db
        .prepare(
          'SELECT name FROM streams WHERE id = (SELECT stream_id FROM events ORDER BY position DESC LIMIT 1)',
        )
        .get();
      db.exec('DELETE FROM events WHERE position = (SELECT max(position) FROM events)');
      return String(row?.name);
    });
    const faults = await faultsOf(folder, '--no-read-models');
    expect(
      faults.some((fault) => fault.startsWith(`missing_event ${dropped}@`)),
      faults.join('\n'),
    ).to.equal(true);
    const other = await copyOf(dataDir);
    const { name } = spoil(other, 'events.db', (db) => {
      const chat = chatStream(db);
      db.prepare('DELETE FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)').run(
        chat.name,
      );
      return chat;
    });
    const found = await faultsOf(other, '--no-read-models');
    expect(
      found.some((fault) => fault.startsWith(`missing_event ${name}@`)),
      found.join('\n'),
    ).to.equal(true);
  });

  it('names a changed event with a recomputed hash, and one that no version could have written', async () => {
    const folder = await copyOf(dataDir);
    const { name, last } = spoil(folder, 'events.db', (db) => {
      const { name, at } = chatStream(db);
      const change = (revision: number, from: string, to: string): void => {
        const row = db
          .prepare(
            `SELECT events.id, types.name AS type, data, metadata FROM events JOIN types ON types.id = type_id
             WHERE position = ?`,
          )
          .get(at(revision));
        const data = String(row?.data).replace(from, to);
        expect(data).not.to.equal(row?.data);
        const event = {
          stream: name,
          revision,
          id: String(row?.id),
          type: String(row?.type),
          data,
          metadata: String(row?.metadata),
        };
        db.prepare('UPDATE events SET data = ?, metadata = ? WHERE position = ?').run(
          data,
          chained(event),
          at(revision),
        );
      };
      change(2, '"mentioned_user_ids":[', '"mentioned_user_ids":["ann",');
      const last = Number(
        db
          .prepare(
            'SELECT max(revision) AS last FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)',
          )
          .get(name)?.last,
      );
      return { name, last };
    });
    expect((await faultsOf(folder, '--no-read-models'))[0]).to.equal(
      `changed_event ${name}@2: ${name}@3 is chained to another hash.`,
    );

    const other = await copyOf(dataDir);
    spoil(other, 'events.db', (db) => {
      const { at } = chatStream(db);
      const row = db
        .prepare(
          'SELECT events.id, types.name AS type, metadata FROM events JOIN types ON types.id = type_id WHERE position = ?',
        )
        .get(at(last));
      const event = { stream: name, revision: last, id: String(row?.id), type: String(row?.type) };
      const metadata = chained({ ...event, data: '{"nothing":1}', metadata: String(row?.metadata) });
      db.prepare('UPDATE events SET data = ?, metadata = ? WHERE position = ?').run(
        '{"nothing":1}',
        metadata,
        at(last),
      );
    });
    const [fault = ''] = await faultsOf(other, '--no-read-models');
    expect(fault.startsWith(`unreadable_event ${name}@${last}: `), fault).to.equal(true);
  });

  it('names each document that was changed, lost, added, damaged or removed from its index', async () => {
    const folder = await copyOf(dataDir);
    const ids = made.sent.map(({ id }) => id);
    spoil(folder, 'read-models.db', (db) => {
      const table = tableOf(db, 'conversations', 'messages');
      const run = (sql: string, ...values: string[]) => {
        expect(Number(db.prepare(sql).run(...values).changes), sql).to.equal(1);
      };
      run(
        `UPDATE ${table} SET doc = replace(doc, '"conversation_id":"', '"conversation_id":"x') WHERE id = ?`,
        ids[0] ?? '',
      );
      run(`DELETE FROM ${table} WHERE id = ?`, ids[1] ?? '');
      run(`UPDATE ${table} SET id = 'put-there' WHERE id = ?`, ids[2] ?? '');
      run(`UPDATE ${table} SET doc = substr(doc, 2) WHERE id = ?`, ids[3] ?? '');
      run(`UPDATE ${table} SET k0 = k0 || 'x' WHERE id = ?`, ids[4] ?? '');
    });
    const at = (id: string | undefined) => `conversations messages ${made.tenant.id} ${id}`;
    const wanted = [
      `changed ${at(ids[0])}: differs from what the log produces`,
      `missing ${at(ids[1])}: is missing, although the log produces it`,
      `missing ${at(ids[2])}: is missing, although the log produces it`,
      `surplus ${at('put-there')}: exists, although the log does not produce it`,
      `unreadable ${at(ids[3])}: cannot be read`,
      `not_indexed ${at(ids[4])}: is not found through an index by its own values`,
    ];
    expect((await faultsOf(folder)).toSorted()).to.deep.equal(wanted.toSorted());
    const { code, stdout } = await command(folder, 'compare-read-models', '--projection', 'conversations');
    expect(code).to.equal(1);
    expect(stdout.trimEnd().split('\n').toSorted()).to.deep.equal(wanted.toSorted());
    const others = await command(folder, 'compare-read-models', '--projection', 'users');
    expect([others.code, others.stdout]).to.deep.equal([0, '']);
  });

  it('names checkpoints after the end of the log', async () => {
    const folder = await copyOf(dataDir);
    spoil(folder, 'read-models.db', (db) => {
      db.exec(`UPDATE generations SET checkpoint = '00000000ffffffff' WHERE projection = 'users'`);
      db.exec(`UPDATE generations SET checkpoint = 'nowhere' WHERE projection = 'files'`);
      db.exec(`UPDATE subscribers SET position = 'ffffffffffffffff' WHERE name = 'eraser'`);
    });
    expect(await faultsOf(folder)).to.have.members([
      'wrong_checkpoint subscriber eraser: Its checkpoint is not a position of the log.',
      'wrong_checkpoint users: has a checkpoint that is not a position of the log',
      'wrong_checkpoint files: has a checkpoint that is not a position of the log',
    ]);
  });

  it('names lost and changed keys', async () => {
    const folder = await copyOf(dataDir);
    const person = (id: string) => `${made.tenant.id}/person-${id}`;
    spoil(folder, 'keys.db', (db) => {
      const key = db.prepare('SELECT wrapped FROM data_keys WHERE id = ?').get(person(made.ada.id))?.wrapped;
      if (!(key instanceof Uint8Array)) throw new Error('no key');
      db.prepare('DELETE FROM data_keys WHERE id = ?').run(person(made.ada.id));
      const spoilt = Buffer.from(key);
      spoilt[20] = (spoilt[20] ?? 0) ^ 1;
      db.prepare('UPDATE data_keys SET wrapped = ? WHERE id = ?').run(spoilt, person(made.ben.id));
    });
    const faults = await faultsOf(folder, '--no-read-models');
    expect(faults.map((fault) => fault.split(':')[0])).to.have.members([
      `missing_key ${person(made.ada.id)}`,
      `unreadable_key ${person(made.ben.id)}`,
    ]);
  });

  it('names a file that is not a database, and one whose index lacks a row', async () => {
    const folder = await copyOf(dataDir);
    spoil(folder, 'events.db', (db) => db.exec('DELETE FROM type_blocks WHERE block = 0'));
    writeFileSync(join(folder, 'answers.db'), 'this is no database, whatever its name says'.repeat(100));
    const { code, stdout } = await verify(folder, '--no-read-models');
    expect(code).to.equal(1);
    expect(stdout).to.contain('damaged_file').and.to.contain('answers.db: file is not a database');
    expect(stdout).to.contain('the index of the log lacks type MessageSent');
  });

  it('names a damaged file of the corpus', async () => {
    const folder = await copyOf(dataDir);
    const path = join(folder, 'corpus.db');
    spoil(folder, 'corpus.db', () => undefined);
    const bytes = readFileSync(path);
    // The number of free pages, of which the file has none.
    bytes.writeUInt32BE(1, 36);
    writeFileSync(path, bytes);
    const [fault] = await faultsOf(folder, '--no-read-models');
    expect(fault).to.match(/^damaged_file .*corpus\.db: /);
  });

  it('names the erasure whose key still exists, and every key under another MASTER_KEY', async () => {
    const folder = await copyOf(dataDir);
    const id = `${made.tenant.id}/person-${made.gone}`;
    spoil(folder, 'keys.db', (db) => {
      db.prepare('UPDATE data_keys SET wrapped = ? WHERE id = ?').run(made.goneKey, id);
    });
    const faults = await faultsOf(folder, '--no-read-models');
    expect(faults).to.have.length(1);
    expect(faults[0]).to.match(
      new RegExp(
        `^key_not_erased ${made.tenant.id}\\.user-${made.gone}@\\d+: It erases a text whose key still exists\\.$`,
      ),
    );
    const env = { ...envOf(dataDir), MASTER_KEY: 'another-master-key-of-the-tests-0123456789' };
    const { code, stdout } = await admin(['verify-data', '--no-read-models'], env, '', 120_000);
    expect(code).to.equal(1);
    for (const line of stdout.trimEnd().split('\n')) expect(line).to.match(/^unreadable_key /);
  });

  it('refuses a folder without a log, and unknown options', async () => {
    const empty = join(await copyOf(dataDir), 'empty');
    await mkdir(empty);
    for (const name of ['verify-data', 'compare-read-models']) {
      const { code, stderr } = await command(empty, name);
      expect([code, stderr]).to.deep.equal([1, `${empty} holds no event log. Check DATA_DIR.\n`]);
    }
    expect(await readdir(empty)).to.deep.equal([]);
    expect((await command(dataDir, 'compare-read-models', '--projection', 'nothing')).code).to.equal(2);
    expect((await command(dataDir, 'verify-data', '--fast')).code).to.equal(2);
  });

  it('removes leftovers of a killed check, and runs once at a time', async () => {
    const folder = await copyOf(dataDir);
    const scratch = join(folder, 'scratch');
    const child = spawn(process.execPath, [MAIN, 'compare-read-models'], {
      env: { ...OF_CHILDREN, ...envOf(folder) },
      stdio: 'ignore',
    });
    const ended = once(child, 'exit');
    const stores = async () =>
      (await readdir(scratch).catch(() => [])).filter((name) => !name.startsWith('lock.db'));
    await eventually('a store beside', async () => (await stores()).length > 0, 120_000);
    child.kill('SIGKILL');
    expect((await ended)[1]).to.equal('SIGKILL');
    expect(await stores()).not.to.deep.equal([]);
    const held = new DatabaseSync(join(scratch, 'lock.db'));
    held.exec('BEGIN EXCLUSIVE');
    const refused = await command(folder, 'compare-read-models');
    expect([refused.code, refused.stderr]).to.deep.equal([
      1,
      'Another comparison is running on this data folder. Wait until it has ended.\n',
    ]);
    expect(await stores()).not.to.deep.equal([]);
    held.close();
    const { code, stderr } = await command(folder, 'compare-read-models', '--projection', 'users');
    expect(code, stderr).to.equal(0);
    expect(await readdir(scratch)).to.deep.equal(['lock.db']);
    expect(findInText(stderr, { content: made.content })).to.deep.equal([]);
  });
});
