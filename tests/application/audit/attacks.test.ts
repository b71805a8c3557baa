import { cp, mkdtemp, open, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect } from 'chai';
import { chainHash } from '../../../application/codec.ts';
import type { HeadSigner } from '../../../application/ports/audit-heads.ts';
import { openSqliteEventStore } from '../../../infrastructure/event-store/sqlite/store.ts';
import { exportOf, fillAuditLog, newSigner, type Proof, proofOf } from '../../support/audit-log.ts';
import { memoryKeyStore } from '../../support/fakes.ts';
import {
  hasPython,
  type Verdict,
  verdictOfArgs,
  verdictOfNode,
  verdictOfPython,
  verify,
  withoutMessage,
} from '../../support/verifiers.ts';

/** The second verifier is slow, and is run on all attacks on a smaller log, and on one export of the large one. */
const SIZES = [
  { EVENTS: 3_000, length: 100, both: true },
  { EVENTS: 100_000, length: 200, both: false },
];
const START = '0'.repeat(64);
const LINE_FEED = 0x0a;
const CHUNK = 1 << 20;

/** The bytes of an export, one after the other. */
type Export = Buffer[];

interface Row {
  readonly position: number;
  readonly stream: string;
  readonly stream_id: number;
  readonly revision: number;
  readonly type: string;
  readonly id: string;
  readonly data: string;
  readonly metadata: string;
}

/** As a file is read. */
const chunksOf = async function* (pieces: Export): AsyncGenerator<Buffer> {
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += CHUNK) yield piece.subarray(at, at + CHUNK);
  }
};

/** Attacks on exports of mixed streams (docs/guarantees.md, "Audit"). */
for (const { EVENTS, length, both } of SIZES)
  describe(`An export of ${EVENTS.toLocaleString('en')} events`, function () {
    this.timeout(300_000);
    const keyStore = memoryKeyStore();
    const python = hasPython();
    let home: string;
    let signer: HeadSigner;
    let log: string;
    let whole: Export;
    /** The same as a file. */
    let wholePath: string;
    /** Where each line begins, and where the last one ends. */
    let starts: number[];
    let proof: Proof;
    let earlier: Proof;
    let foreign: Proof;
    let made = 0;

    before(async () => {
      if (!python) process.stdout.write('    python3 is missing: the second verifier is not run\n');
      home = await mkdtemp(join(tmpdir(), 'audit-attacks-'));
      log = join(home, 'log');
      await cp(await emptyFolder(), log, { recursive: true });
      const events = openSqliteEventStore({ path: join(log, 'events.db') });
      signer = newSigner();
      await fillAuditLog(events, keyStore, 'acme', EVENTS / 2, length);
      await fillAuditLog(events, keyStore, 'other', EVENTS / 50, 20);
      await events.close();
      earlier = await proofOf({ folder: log }, 'acme', signer);
      const again = openSqliteEventStore({ path: join(log, 'events.db') });
      await fillAuditLog(again, keyStore, 'acme', EVENTS / 2, length);
      await again.close();
      proof = await proofOf({ folder: log }, 'acme', signer);
      foreign = await proofOf({ folder: log }, 'other', signer);
      whole = [Buffer.concat(await exported(log))];
      wholePath = await writtenOf(whole);
      starts = [0];
      const bytes = whole[0] as Buffer;
      for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1))
        starts.push(at + 1);
      expect(starts).to.have.length(EVENTS + 1);
    });
    after(() => rm(home, { recursive: true, force: true }));

    const emptyFolder = () => mkdtemp(join(home, 'empty-'));
    const file = (name: string): string => join(home, `${++made}-${name}`);
    const exported = (folder: string, tenant = 'acme'): Promise<Export> =>
      exportOf({ folder, keyStore }, tenant);
    const written = async (name: string, text: string): Promise<string> => {
      const path = file(name);
      await writeFile(path, text);
      return path;
    };

    const writtenOf = async (pieces: Export): Promise<string> => {
      const path = file('export.ndjson');
      await writeFile(path, pieces);
      return path;
    };

    /** The verdict that both verifiers give. */
    const verdictOf = async (pieces: Export, ...args: string[]): Promise<Verdict> => {
      const found = await verdictOfArgs(args, chunksOf(pieces));
      if (!both) return found;
      const path = pieces === whole ? wholePath : await writtenOf(pieces);
      if (python) await expectOfPython(found, path, args);
      if (pieces !== whole) await rm(path);
      return found;
    };
    const expectOfPython = async (found: Verdict, path: string, args: readonly string[]): Promise<void> => {
      expect(
        withoutMessage(await verdictOfPython('--export', path, ...args)),
        'the second verifier',
      ).to.deep.equal(withoutMessage(found));
    };
    const against = async (text: string): Promise<string[]> => [
      '--proof',
      await written('proof', text),
      '--public-key',
      signer.publicKey,
    ];
    const checked = async (pieces: Export, using = proof.withHeads): Promise<Verdict> =>
      verdictOf(pieces, ...(await against(using)));

    const expectFault = (verdict: Verdict, fault: Partial<NonNullable<Verdict['fault']>>): void => {
      expect(verdict.verified).to.equal(false);
      expect({ ...verdict.fault, message: undefined }).to.deep.include(fault);
    };

    /** A copy of the log, for somebody who can write to its file. */
    const broken = async (change: (path: string) => void | Promise<void>): Promise<Export> => {
      const copy = file('log');
      await cp(log, copy, { recursive: true });
      await change(join(copy, 'events.db'));
      const to = await exported(copy);
      await rm(copy, { recursive: true });
      return to;
    };
    const inDatabase = (change: (db: DatabaseSync) => void): Promise<Export> =>
      broken((path) => {
        const db = new DatabaseSync(path);
        change(db);
        db.close();
      });

    const bytesOf = (from: number, to: number): Buffer =>
      (whole[0] as Buffer).subarray(starts[from], starts[to]);
    const textOf = (index: number): string =>
      bytesOf(index, index + 1)
        .toString('utf8')
        .trimEnd();
    const lineOf = (index: number): { stream: string; revision: number; id: string; position: string } =>
      JSON.parse(textOf(index));
    /** The first line after one with this text in it. */
    const indexAfter = (index: number, keep: (text: string) => boolean): number => {
      for (let at = index + 1; at < EVENTS; at += 1) if (keep(textOf(at))) return at;
      throw new Error('there is no such line');
    };
    /** A line in the middle whose stream goes on, of a stream of the category; its number from 1. */
    const victim = (category: string) => {
      const index = indexAfter(
        EVENTS / 4,
        (text) => text.includes(`"stream":"acme.${category}-`) && text.includes('"revision":50,'),
      );
      return { ...lineOf(index), index, line: index + 1 };
    };
    const row = (db: DatabaseSync, stream: string, revision: number): Row => {
      const found = db
        .prepare(`SELECT e.*, s.name AS stream, t.name AS type FROM events e JOIN streams s ON s.id = e.stream_id
        JOIN types t ON t.id = e.type_id WHERE s.name = ? AND e.revision = ?`)
        .get(stream, revision);
      if (found === undefined) throw new Error(`${stream}@${revision} is not there`);
      // The columns are those of the schema of the log.
      return found as unknown as Row;
    };
    /** The metadata with the hash that the event should have. */
    const repaired = (event: Omit<Row, 'position' | 'stream_id'>): string => {
      const without = event.metadata.replace(/"hash":"[0-9a-f]{64}",/, '');
      const previous = /"prev_hash":"([0-9a-f]{64})"/.exec(event.metadata)?.[1] ?? '';
      const { stream, revision, id, type, data } = event;
      const digest = chainHash(previous, stream, revision, id, type, data, without);
      return event.metadata.replace(/"hash":"[0-9a-f]{64}"/, `"hash":"${digest}"`);
    };
    const withPrevious = (metadata: string, hash: string): string =>
      metadata.replace(/"prev_hash":"[0-9a-f]{64}"/, `"prev_hash":"${hash}"`);
    const hashIn = (metadata: string): string => /"hash":"([0-9a-f]{64})"/.exec(metadata)?.[1] ?? '';
    const lastOf = (db: DatabaseSync, stream: string): number =>
      Number(
        db
          .prepare(
            'SELECT max(revision) AS last FROM events JOIN streams s ON s.id = stream_id WHERE s.name = ?',
          )
          .get(stream)?.last,
      );

    describe('that nobody has touched', () => {
      it('is verified, by itself and against its head, with and without the list of heads', async () => {
        const withHeads = await against(proof.withHeads);
        for (const args of [[], withHeads, await against(JSON.stringify(proof.head))]) {
          const options = args.length === 0 ? [] : [...args, '--strict'];
          const verdict = await verdictOf(whole, ...options);
          // Of the large log once, with everything: each is a process that reads all of it.
          const isOne = both || args === withHeads;
          if (isOne) {
            expect(await verdictOfNode('--export', wholePath, ...options), 'as a command').to.deep.equal(
              verdict,
            );
            if (python) await expectOfPython(verdict, wholePath, options);
          }
          expect(verdict).to.deep.include({
            verified: true,
            events: EVENTS,
            tenant_id: 'acme',
          });
          expect(verdict.not_covered).to.equal(args.length === 0 ? EVENTS : 0);
          expect(verdict.head?.position).to.equal(args.length === 0 ? undefined : proof.head.position);
        }
      });

      it('is verified against a head that was sealed before its last events, which are counted', async () => {
        expect(await checked(whole, earlier.withHeads)).to.deep.include({
          verified: true,
          not_covered: EVENTS / 2,
          head: { position: earlier.head.position, signed_at: earlier.head.signed_at },
        });
      });

      it('is the same bytes each time', async () => {
        expect(Buffer.concat(await exported(log)).equals(whole[0] as Buffer)).to.equal(true);
      });
    });

    describe('from a database file that was written to', () => {
      it('shows one flipped byte, and where', async () => {
        const { index, line, stream, revision } = victim('record');
        const text = lineOf(index);
        const to = await broken(async (path) => {
          const bytes = await readFile(path);
          // Within the event's own row: its id, and behind it its data.
          const at = bytes.indexOf('line\\nfeed', bytes.indexOf(text.id));
          const handle = await open(path, 'r+');
          await handle.write(Buffer.from([(bytes[at] ?? 0) ^ 1]), 0, 1, at);
          await handle.close();
        });
        expectFault(await checked(to), { kind: 'changed_event', line, stream, revision });
      });

      it('shows a changed row whose own hash was repaired', async () => {
        const { line, stream, revision } = victim('record');
        const to = await inDatabase((db) => {
          const event = row(db, stream, revision);
          const changed = { ...event, data: event.data.replace('offer', 'order') };
          db.prepare('UPDATE events SET data = ?, metadata = ? WHERE position = ?').run(
            changed.data,
            repaired(changed),
            event.position,
          );
        });
        expectFault(await checked(to), { kind: 'changed_event', line, stream, revision });
      });

      it('shows a stream that was made anew from one event to its end, every hash repaired', async () => {
        const { stream, revision } = victim('record');
        const to = await inDatabase((db) => {
          let previous = hashIn(row(db, stream, revision - 1).metadata);
          for (let nth = revision; nth <= lastOf(db, stream); nth += 1) {
            const event = row(db, stream, nth);
            const changed = {
              ...event,
              data: nth === revision ? event.data.replace('offer', 'order') : event.data,
              metadata: withPrevious(event.metadata, previous),
            };
            const metadata = repaired(changed);
            previous = hashIn(metadata);
            db.prepare('UPDATE events SET data = ?, metadata = ? WHERE position = ?').run(
              changed.data,
              metadata,
              event.position,
            );
          }
        });
        expect((await verdictOf(to)).verified, 'without a head it looks whole').to.equal(true);
        expectFault(await checked(to), { kind: 'changed_event', stream });
        expectFault(await checked(to, JSON.stringify(proof.head)), { kind: 'root_mismatch' });
      });

      it('shows that the last event was dropped', async () => {
        const { stream, revision } = lineOf(EVENTS - 1);
        const to = await inDatabase((db) => {
          db.exec('DELETE FROM events WHERE position = (SELECT max(position) FROM events)');
        });
        expectFault(await checked(to), { kind: 'missing_event', stream, revision });
        expectFault(await checked(to, JSON.stringify(proof.head)), { kind: 'root_mismatch' });
      });

      it('shows that the ends of streams were dropped in the middle of the log', async () => {
        const { stream } = victim('conversation');
        const to = await inDatabase((db) => {
          db.prepare(
            'DELETE FROM events WHERE revision >= 70 AND stream_id = (SELECT id FROM streams WHERE name = ?)',
          ).run(stream);
        });
        expectFault(await checked(to), { kind: 'missing_event', stream, revision: 70 });
      });

      it('shows that a whole stream was dropped', async () => {
        const { stream } = victim('user');
        const to = await inDatabase((db) => {
          db.prepare('DELETE FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)').run(
            stream,
          );
        });
        expect((await verdictOf(to)).verified, 'without a head it looks whole').to.equal(true);
        expectFault(await checked(to), { kind: 'missing_event', stream, revision: 0 });
        expectFault(await checked(to, JSON.stringify(proof.head)), { kind: 'root_mismatch' });
      });

      it('shows that an event was taken out', async () => {
        const { line, stream, revision } = victim('conversation');
        const to = await inDatabase((db) => {
          db.prepare('DELETE FROM events WHERE position = ?').run(row(db, stream, revision).position);
        });
        const fault = { kind: 'missing_event', stream, revision };
        const verdict = await checked(to);
        expectFault(verdict, fault);
        expect(verdict.fault?.line).to.be.at.least(line);
      });

      it('shows that an event was taken out and the rest of its stream moved up, hashes untouched', async () => {
        const { line, stream, revision } = victim('conversation');
        const to = await inDatabase((db) => {
          const { position, stream_id } = row(db, stream, revision);
          db.prepare('DELETE FROM events WHERE position = ?').run(position);
          for (let nth = revision + 1; nth <= lastOf(db, stream); nth += 1) {
            db.prepare('UPDATE events SET revision = revision - 1 WHERE stream_id = ? AND revision = ?').run(
              stream_id,
              nth,
            );
          }
        });
        const verdict = await checked(to);
        expectFault(verdict, { kind: 'changed_event', stream, revision });
        expect(verdict.fault?.line).to.be.at.least(line);
      });

      it('shows that two events were swapped', async () => {
        const { line, stream, revision } = victim('email');
        const to = await inDatabase((db) => {
          const [one, two] = [row(db, stream, revision), row(db, stream, revision + 1)];
          const put = db.prepare(
            'UPDATE events SET id = ?, data = ?, metadata = ?, type_id = ? WHERE position = ?',
          );
          const types = [one, two].map(({ type }) =>
            Number(db.prepare('SELECT id FROM types WHERE name = ?').get(type)?.id),
          );
          put.run(two.id, two.data, two.metadata, types[1] ?? 0, one.position);
          put.run(one.id, one.data, one.metadata, types[0] ?? 0, two.position);
        });
        expectFault(await checked(to), { kind: 'changed_event', line, stream, revision });
      });

      it('shows an event that was inserted at the end of a stream, well chained', async () => {
        const { stream } = victim('email');
        let last = 0;
        const to = await inDatabase((db) => {
          last = lastOf(db, stream);
          const before = row(db, stream, last);
          const next = {
            ...before,
            revision: last + 1,
            metadata: withPrevious(before.metadata, hashIn(before.metadata)),
          };
          insert(
            db,
            { ...next, metadata: repaired(next) },
            Number(db.prepare('SELECT max(position) AS end FROM events').get()?.end) + 1,
          );
        });
        expect((await verdictOf(to)).verified, 'without a head it looks whole').to.equal(true);
        // It comes after everything, so it may be newer than the head: only with --strict that is a fault.
        expect(await checked(to)).to.deep.include({ verified: true, not_covered: 1 });
        const strict = await verdictOf(to, ...(await against(proof.withHeads)), '--strict');
        expectFault(strict, { kind: 'old_head', line: EVENTS + 1, stream, revision: last + 1 });
      });

      it('shows an event that was inserted at the end of a stream, within what was sealed', async () => {
        const { stream } = victim('email');
        let last = 0;
        const to = await inDatabase((db) => {
          last = lastOf(db, stream);
          const before = row(db, stream, last);
          const next = {
            ...before,
            revision: last + 1,
            metadata: withPrevious(before.metadata, hashIn(before.metadata)),
          };
          // At the place of an event of another tenant, which nobody misses.
          const place = db
            .prepare(
              "SELECT max(e.position) AS at FROM events e JOIN streams s ON s.id = e.stream_id WHERE s.name LIKE 'other.%'",
            )
            .get();
          const at = Number(place?.at);
          db.prepare('DELETE FROM events WHERE position = ?').run(at);
          db.prepare('UPDATE events SET position = ? WHERE position = ?').run(at, Number.MAX_SAFE_INTEGER);
          insert(db, { ...next, metadata: repaired(next) }, at);
        });
        const verdict = await checked(to);
        // Before the stream's own last events, where its place is none, or after them.
        expect(verdict.verified).to.equal(false);
        expect(verdict.fault?.stream).to.equal(stream);
      });

      it('shows a stream that somebody made up', async () => {
        const stream = `acme.user-made-up`;
        const to = await inDatabase((db) => {
          const model = row(db, victim('user').stream, 0);
          const id = Number(db.prepare('INSERT INTO streams (name) VALUES (?)').run(stream).lastInsertRowid);
          const event = { ...model, stream, stream_id: id, metadata: withPrevious(model.metadata, START) };
          const place = db
            .prepare(
              "SELECT max(e.position) AS at FROM events e JOIN streams s ON s.id = e.stream_id WHERE s.name LIKE 'other.%'",
            )
            .get();
          const at = Number(place?.at);
          db.prepare('DELETE FROM events WHERE position = ?').run(at);
          insert(db, { ...event, metadata: repaired(event) }, at);
        });
        expectFault(await checked(to), { kind: 'inserted_event', stream, revision: 0 });
        expectFault(await checked(to, JSON.stringify(proof.head)), { kind: 'root_mismatch' });
      });

      it('shows that a stream was renamed', async () => {
        const { stream } = victim('user');
        const to = await inDatabase((db) => {
          db.prepare('UPDATE streams SET name = ? WHERE name = ?').run('acme.user-somebody-else', stream);
        });
        expectFault(await checked(to), {
          kind: 'changed_event',
          stream: 'acme.user-somebody-else',
          revision: 0,
        });
      });
    });

    const insert = (db: DatabaseSync, event: Row, position: number): void => {
      db.prepare(`INSERT INTO events (position, stream_id, revision, type_id, id, data, metadata)
      VALUES (?, ?, ?, (SELECT id FROM types WHERE name = ?), ?, ?, ?)`).run(
        position,
        event.stream_id,
        event.revision,
        event.type,
        event.id,
        event.data,
        event.metadata,
      );
      db.prepare('INSERT OR IGNORE INTO owner_blocks (owner, block) VALUES (?, ?)').run(
        event.stream.slice(0, event.stream.indexOf('.')),
        Math.floor(position / 1024),
      );
    };

    describe('with other heads', () => {
      it('is not proven by an old head: a newer one outside, an instant, or the events themselves show it', async () => {
        const after = indexAfter(0, (line) => positionIn(line) > earlier.head.position);
        const cut = [bytesOf(0, after)];
        const old = await against(earlier.withHeads);
        expect((await verdictOf(cut, ...old)).verified, 'nothing tells that this is not all').to.equal(true);
        const outside = await written(
          'heads',
          `${JSON.stringify(earlier.head)}\n${JSON.stringify(proof.head)}\n`,
        );
        expectFault(await verdictOf(cut, ...old, '--heads', outside), { kind: 'old_head' });
        const later = new Date(Date.parse(proof.head.signed_at) + 1).toISOString();
        expectFault(await verdictOf(cut, ...old, '--not-before', later), { kind: 'old_head' });
        const strict = await verdictOf(whole, ...old, '--strict');
        expectFault(strict, { kind: 'old_head', line: EVENTS / 2 + 1 });
      });

      it('is held against every head that was kept outside, and tells between which two it went wrong', async () => {
        const outside = await written(
          'heads',
          `${JSON.stringify(earlier.head)}\n${JSON.stringify(proof.head)}\n{"cut`,
        );
        const args = ['--heads', outside, '--public-key', signer.publicKey];
        expect((await verdictOf(whole, ...args)).head?.position).to.equal(proof.head.position);
        const cut = [bytesOf(0, EVENTS - 1)];
        const { fault } = await verdictOf(cut, ...args);
        expect(fault?.kind).to.equal('root_mismatch');
        expect(fault?.message).to.include(earlier.head.position);
      });

      it('is not proven by a signed head of another tenant, nor by one that was made to look like its own', async () => {
        const verdict = await checked(whole, JSON.stringify(foreign.head));
        expectFault(verdict, { kind: 'foreign_event', line: 1 });
        const outside = await written('heads', `${JSON.stringify(foreign.head)}\n`);
        expectFault(await verdictOf(whole, ...(await against(proof.withHeads)), '--heads', outside), {
          kind: 'foreign_head',
        });
        const renamed = JSON.stringify({ ...foreign.head, tenant_id: 'acme' });
        expectFault(await checked(whole, renamed), { kind: 'bad_signature' });
      });

      it('is not proven by a head that was changed, or signed with another key', async () => {
        for (const change of [
          { position: earlier.head.position },
          { root: earlier.head.root },
          { signed_at: '2030-01-01T00:00:00.000Z' },
          { signature: earlier.head.signature },
          { signature: '' },
          { algorithm: 'none' },
        ]) {
          expectFault(await checked(whole, JSON.stringify({ ...proof.head, ...change })), {
            kind: 'bad_signature',
          });
        }
        const stranger = await proofOf({ folder: log }, 'acme', newSigner());
        expectFault(await checked(whole, JSON.stringify(stranger.head)), { kind: 'bad_signature' });
        const list = proof.withHeads.split('\n');
        list.splice(5, 1);
        expectFault(await checked(whole, list.join('\n')), { kind: 'bad_signature' });
      });
    });

    describe('that was changed on its way', () => {
      /** With the lines of `[from, to)` exchanged for others. */
      const withLines = (from: number, to: number, ...others: string[]): Export => [
        bytesOf(0, from),
        Buffer.from(others.map((text) => `${text}\n`).join('')),
        bytesOf(to, EVENTS),
      ];

      it('shows that it was cut off in the middle of a line', async () => {
        const to = [(whole[0] as Buffer).subarray(0, -400)];
        expectFault(await checked(to), { kind: 'unreadable_line', line: EVENTS });
      });

      it('shows that lines at its end are missing', async () => {
        const { stream, revision } = lineOf(EVENTS - 1);
        expectFault(await checked(withLines(EVENTS - 1, EVENTS)), {
          kind: 'missing_event',
          stream,
          revision,
        });
      });

      it('shows a line that is there twice', async () => {
        const { index, stream, revision } = victim('user');
        const to = withLines(index, index, textOf(index));
        expectFault(await checked(to), { kind: 'out_of_order', line: index + 2, stream, revision });
      });

      it('shows two lines that were swapped, of one stream or of two', async () => {
        const { index, stream, revision } = victim('record');
        const next = indexAfter(index, (line) => line.includes(`"stream":"${stream}"`));
        const swap = (a: number, b: number): Export => [
          ...withLines(a, EVENTS, textOf(b)),
          bytesOf(a + 1, b),
          ...withLines(0, b + 1, textOf(a)).slice(1),
        ];
        expectFault(await checked(swap(index, next)), {
          kind: 'missing_event',
          line: index + 1,
          stream,
          revision,
        });
        const other = indexAfter(index, (line) => !line.includes(`"stream":"${stream}"`));
        expect((await checked(swap(index, other))).fault?.line).to.be.within(index + 1, other + 2);
      });

      it('shows a view that says something else than what is stored', async () => {
        const { index, line, stream, revision } = victim('record');
        const fault = { kind: 'changed_view', line, stream, revision };
        for (const [from, to] of [
          ['"entity_name":"offer"', '"entity_name":"order"'],
          ['"version":51', '"version":52'],
          ['"kind":"user"', '"kind":"system"'],
        ] as const) {
          const changed = withLines(index, index + 1, textOf(index).replace(from, to));
          expectFault(await checked(changed), fault);
        }
      });

      it('does not prove what a sealed text reads when it is opened', async () => {
        const { index } = victim('conversation');
        const changed = withLines(index, index + 1, textOf(index).replace('about as long', 'about as short'));
        expect((await checked(changed)).verified).to.equal(true);
      });

      it('shows an event of another tenant', async () => {
        const other =
          Buffer.concat(await exported(log, 'other'))
            .toString('utf8')
            .split('\n')[0] ?? '';
        const to = withLines(EVENTS, EVENTS, other);
        expectFault(await verdictOf(to), { kind: 'foreign_event', line: EVENTS + 1 });
      });

      it('shows lines that are no events', async () => {
        for (const text of ['', 'null', '[]', '{}', '{"position":"x"', '\u0000']) {
          expectFault(await verdictOf(withLines(10, 11, text)), { kind: 'unreadable_line', line: 11 });
        }
      });
    });

    it('is refused a check that would vouch for nothing', async () => {
      const key = ['--public-key', signer.publicKey];
      for (const args of [
        [],
        ['--export', 'nowhere.ndjson'],
        ['--export', wholePath, '--proof', await written('proof', JSON.stringify(proof.head))],
        ['--export', wholePath, '--proof', 'nowhere.json', ...key],
        ['--export', wholePath, '--proof', wholePath, '--public-key', 'no key'],
        ['--export', wholePath, ...key, '--proof', wholePath, '--not-before', 'yesterday'],
        ['--export', wholePath, '--unknown'],
      ]) {
        const { code, stdout, stderr } = await verify(...args);
        expect([code, stdout]).to.deep.equal([2, '']);
        expect(stderr.trim().split('\n')).to.have.length(1);
      }
    });
  });

const positionIn = (line: string): string => line.slice('{"position":"'.length, '{"position":"'.length + 16);
