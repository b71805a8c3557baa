import { setImmediate as nextTick } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { HeadStore, LastRevision } from '../../application/ports/audit-heads.ts';
import type { Position } from '../../application/ports/event-store.ts';
import { MaintenanceThread } from '../maintenance/maintenance-thread.ts';
import {
  LIMIT_CLAUSE,
  numberOf,
  openSqlite,
  optionalTextOf,
  type SqliteConnection,
  textOf,
} from '../sqlite/connection.ts';

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS heads (
    stream TEXT PRIMARY KEY, revision INTEGER NOT NULL, hash TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS owners (
    owner TEXT PRIMARY KEY, position TEXT NOT NULL, sealed TEXT NOT NULL DEFAULT ''
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS progress (one INTEGER PRIMARY KEY CHECK (one = 1), position TEXT, last TEXT);
  CREATE TABLE IF NOT EXISTS outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, head TEXT NOT NULL);
  CREATE INDEX IF NOT EXISTS outbox_of_tenant ON outbox (head ->> 'tenant_id');
  INSERT OR IGNORE INTO progress (one, position) VALUES (1, NULL);
`;
const UPSERT_HEAD = `INSERT INTO heads (stream, revision, hash) VALUES (?, ?, ?) ON CONFLICT (stream)
  DO UPDATE SET revision = excluded.revision, hash = excluded.hash WHERE excluded.revision > revision`;
const UPSERT_OWNER = `INSERT INTO owners (owner, position) VALUES (?, ?) ON CONFLICT (owner)
  DO UPDATE SET position = excluded.position WHERE excluded.position > position`;
const PROGRESS = `UPDATE progress SET position = ?, last = ifnull(?, last)
  WHERE position IS NULL OR position < ?`;

const DROP_OLDEST = `DELETE FROM outbox WHERE seq IN (
  SELECT seq FROM outbox WHERE head ->> 'tenant_id' = ? ORDER BY seq DESC LIMIT -1 OFFSET ?)`;

/** Last revisions that one step reads. A step takes a few milliseconds. */
const PAGE = 2000;

const lastRevision = z.object({ stream: z.string(), revision: z.number(), hash: z.string() });

const signedHead = z.object({
  tenant_id: z.string(),
  position: z.string(),
  root: z.string(),
  signed_at: z.string(),
  algorithm: z.literal('Ed25519'),
  public_key: z.string(),
  signature: z.string(),
});

/**
 * Opens the store of heads. Commits do not wait for the disk: last revisions lost to a power cut are copied again
 * from the log.
 * @param log file of the embedded event log, if there is one: a thread copies last revisions from it
 * @param maintenance a thread that the caller closes before this store; default: the store starts and closes one
 */
export const openSqliteHeadStore = async ({
  path,
  log,
  maintenance,
}: {
  readonly path: string;
  readonly log?: string | undefined;
  readonly maintenance?: MaintenanceThread | undefined;
}): Promise<HeadStore> => {
  const open = (): Promise<SqliteConnection> =>
    openSqlite({ path, pragmas: ['journal_mode = WAL', 'synchronous = NORMAL'], schema: SCHEMA });
  const writer = await open();
  const { prepare, read, write } = writer;
  // A separate connection: reads of one snapshot keep a transaction open over many steps.
  const reader = await open();
  let reading: Promise<unknown> = Promise.resolve();
  const thread = maintenance ?? new MaintenanceThread();

  const positionIn = ({ prepare }: SqliteConnection): Position | undefined => {
    const row = prepare('SELECT position FROM progress').get();
    // The column holds NULL (`reset`) or a position (`merge` and the thread's copy, log-heads.ts).
    return row === undefined ? undefined : (optionalTextOf(row, 'position') as Position | undefined);
  };

  const lastIn = ({ prepare }: SqliteConnection): LastRevision | undefined => {
    const row = prepare('SELECT last FROM progress').get();
    const last = row === undefined ? undefined : optionalTextOf(row, 'last');
    return last === undefined ? undefined : lastRevision.parse(JSON.parse(last));
  };

  const readAll: HeadStore['read'] = async (prefix, each) => {
    await reader.read(() => reader.prepare('BEGIN').run());
    try {
      const position = await reader.read(() => positionIn(reader));
      const after = `${prefix}\u{10ffff}`;
      let from = prefix;
      for (;;) {
        const rows = await reader.read(() =>
          reader
            .prepare(`SELECT * FROM heads WHERE stream > ? AND stream < ? ORDER BY stream ${LIMIT_CLAUSE}`)
            .all(from, after, PAGE),
        );
        const revisions: LastRevision[] = rows.map((row) => ({
          stream: textOf(row, 'stream'),
          revision: numberOf(row, 'revision'),
          hash: textOf(row, 'hash'),
        }));
        await each(revisions);
        const last = revisions.at(-1);
        if (last === undefined || revisions.length < PAGE) return position;
        from = last.stream;
        await nextTick();
      }
    } finally {
      reader.prepare('COMMIT').run();
    }
  };

  return {
    // The thread answers this task with a position or undefined.
    ...(log === undefined
      ? {}
      : { advance: async () => (await thread.run({ kind: 'heads', path, log })) as Position | undefined }),

    position: () => read(() => positionIn(writer)),

    lastNoted: () => read(() => lastIn(writer)),

    // One transaction, so that a reader never sees revisions newer than the position.
    merge: (noted, after, position) =>
      write(() => {
        if ((positionIn(writer) ?? '') < (after ?? '')) return false;
        const owners = new Map<string, Position>();
        let last: { readonly revision: LastRevision; readonly position: Position } | undefined;
        for (const [stream, { revision, hash, position: seen }] of noted) {
          prepare(UPSERT_HEAD).run(stream, revision, hash);
          const owner = stream.slice(0, stream.indexOf('.'));
          const known = owners.get(owner);
          if (known === undefined || known < seen) owners.set(owner, seen);
          if (last === undefined || last.position < seen)
            last = { revision: { stream, revision, hash }, position: seen };
        }
        for (const [owner, seen] of owners) prepare(UPSERT_OWNER).run(owner, seen);
        prepare(PROGRESS).run(position, last === undefined ? null : JSON.stringify(last.revision), position);
        return true;
      }),

    reset: (last) =>
      write(() => {
        if (!isDeepStrictEqual(lastIn(writer), last)) return;
        prepare('DELETE FROM heads').run();
        prepare('DELETE FROM owners').run();
        prepare('UPDATE progress SET position = NULL, last = NULL').run();
      }),

    read(prefix, each) {
      const mine = reading.then(() => readAll(prefix, each));
      reading = mine.catch(() => undefined);
      return mine;
    },

    unsigned: () =>
      read(() =>
        prepare('SELECT owner FROM owners WHERE position > sealed ORDER BY owner')
          .all()
          .map((row) => textOf(row, 'owner')),
      ),
    signed: (owner, position) =>
      write(() => {
        prepare('UPDATE owners SET sealed = max(sealed, ?) WHERE owner = ?').run(position, owner);
      }),

    enqueue: (head, most) =>
      write(() => {
        prepare('INSERT INTO outbox (head) VALUES (?)').run(JSON.stringify(head));
        return Number(prepare(DROP_OLDEST).run(head.tenant_id, most).changes);
      }),
    waiting: (limit, after) =>
      read(() =>
        prepare(`SELECT seq, head FROM outbox WHERE seq > ? ORDER BY seq ${LIMIT_CLAUSE}`)
          .all(after, limit)
          .map((row) => ({
            seq: numberOf(row, 'seq'),
            head: signedHead.parse(JSON.parse(textOf(row, 'head'))),
          })),
      ),
    delivered: (seq) =>
      write(() => {
        prepare('DELETE FROM outbox WHERE seq = ?').run(seq);
      }),

    async close() {
      await Promise.all([reading, maintenance === undefined ? thread.close() : undefined]);
      await reader.close();
      await writer.close();
    },
  };
};
