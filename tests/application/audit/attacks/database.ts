import { open, readFile } from 'node:fs/promises';
import { expect } from 'chai';
import { type AttackedLog, expectFault } from './log.ts';
import { following, freedPlace, hashIn, insert, lastOf, repaired, row, START, withPrevious } from './rows.ts';

/** Attacks by a person who can write to the log’s file, tried on logs of both sizes. */
export const databaseAttacks = (at: AttackedLog): void => {
  const { EVENTS, broken, checked, inDatabase, lineOf, victim } = at;

  describe('of a modified database file', () => {
    it('shows one flipped byte and its place', async () => {
      const { index, line, stream, revision } = victim('record');
      const text = lineOf(index);
      const to = await broken(async (path) => {
        const bytes = await readFile(path);
        // The event’s own row holds its id, followed by its data.
        const id = Buffer.from(text.id.replaceAll('-', ''), 'hex');
        const at = bytes.indexOf('line\\nfeed', bytes.indexOf(id));
        const handle = await open(path, 'r+');
        await handle.write(Buffer.from([(bytes[at] ?? 0) ^ 1]), 0, 1, at);
        await handle.close();
      });
      expectFault(await checked(to), { kind: 'changed_event', line, stream, revision });
    });

    it('shows that the last event was removed', async () => {
      const { stream, revision } = lineOf(EVENTS - 1);
      const to = await inDatabase((db) => {
        db.exec('DELETE FROM events WHERE position = (SELECT max(position) FROM events)');
      });
      expectFault(await checked(to), { kind: 'missing_event', stream, revision });
      expectFault(await checked(to, JSON.stringify(at.proof.head)), { kind: 'root_mismatch' });
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

    it('shows an invented stream', async () => {
      const stream = `acme.user-made-up`;
      const to = await inDatabase((db) => {
        const model = row(db, victim('user').stream, 0);
        const id = Number(db.prepare('INSERT INTO streams (name) VALUES (?)').run(stream).lastInsertRowid);
        const event = { ...model, stream, stream_id: id, metadata: withPrevious(model.metadata, START) };
        insert(db, { ...event, metadata: repaired(event) }, freedPlace(db));
      });
      expectFault(await checked(to), { kind: 'inserted_event', stream, revision: 0 });
      expectFault(await checked(to, JSON.stringify(at.proof.head)), { kind: 'root_mismatch' });
    });
  });
};

/** Further attacks on the log’s file, tried only on the smaller log. */
export const moreDatabaseAttacks = (at: AttackedLog): void => {
  const { EVENTS, against, checked, inDatabase, verdictOf, victim } = at;

  describe('of a database file modified in other ways', () => {
    it('shows a changed row with a repaired hash', async () => {
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

    it('shows a stream changed from one event to its end with repaired hashes', async () => {
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
      expectFault(await checked(to, JSON.stringify(at.proof.head)), { kind: 'root_mismatch' });
    });

    it('shows that the end of a stream was removed in the middle of the log', async () => {
      const { stream } = victim('conversation');
      const to = await inDatabase((db) => {
        db.prepare(
          'DELETE FROM events WHERE revision >= 70 AND stream_id = (SELECT id FROM streams WHERE name = ?)',
        ).run(stream);
      });
      expectFault(await checked(to), { kind: 'missing_event', stream, revision: 70 });
    });

    it('shows that a whole stream was removed', async () => {
      const { stream } = victim('user');
      const to = await inDatabase((db) => {
        db.prepare('DELETE FROM events WHERE stream_id = (SELECT id FROM streams WHERE name = ?)').run(
          stream,
        );
      });
      expect((await verdictOf(to)).verified, 'without a head it looks whole').to.equal(true);
      expectFault(await checked(to), { kind: 'missing_event', stream, revision: 0 });
      expectFault(await checked(to, JSON.stringify(at.proof.head)), { kind: 'root_mismatch' });
    });

    it('shows that an event was removed', async () => {
      const { line, stream, revision } = victim('conversation');
      const to = await inDatabase((db) => {
        db.prepare('DELETE FROM events WHERE position = ?').run(row(db, stream, revision).position);
      });
      const fault = { kind: 'missing_event', stream, revision };
      const verdict = await checked(to);
      expectFault(verdict, fault);
      expect(verdict.fault?.line).to.be.at.least(line);
    });

    it('shows that an event was removed and later ones renumbered with old hashes', async () => {
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

    it('shows an event added at the end of a stream with a valid chain', async () => {
      const { stream } = victim('email');
      let last = 0;
      const to = await inDatabase((db) => {
        const next = following(db, stream);
        last = next.revision;
        insert(db, next, Number(db.prepare('SELECT max(position) AS end FROM events').get()?.end) + 1);
      });
      expect((await verdictOf(to)).verified, 'without a head it looks whole').to.equal(true);
      // The event may be newer than the head, so it is a fault only with --strict.
      expect(await checked(to)).to.deep.include({ verified: true, not_covered: 1 });
      const strict = await verdictOf(to, ...(await against(at.proof.withHeads)), '--strict');
      expectFault(strict, { kind: 'old_head', line: EVENTS + 1, stream, revision: last });
    });

    it('shows an event added at the end of a stream before the head’s position', async () => {
      const { stream } = victim('email');
      const to = await inDatabase((db) => insert(db, following(db, stream), freedPlace(db)));
      const verdict = await checked(to);
      // The kind of fault depends on whether the freed position is before or after the stream’s last events.
      expect(verdict.verified).to.equal(false);
      expect(verdict.fault?.stream).to.equal(stream);
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
};
