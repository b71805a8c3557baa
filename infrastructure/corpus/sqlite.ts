import { z } from 'zod';
import type { CorpusSource, CorpusStore } from '../../application/ports/corpus-store.ts';
import { LIMIT_CLAUSE, numberOf, openSqlite, textOf } from '../sqlite/connection.ts';
import { groupedWrites } from '../sqlite/grouped-writes.ts';
import { bytesOf, changeRow, keyRow, runRow, sourceOf, summaryOf } from './rows.ts';

const PRAGMAS = ['journal_mode = WAL', 'synchronous = FULL'];

/** `buried` marks the tombstone of a removed source, which keeps the revision, but no chunks and no title. */
const SCHEMA = `
CREATE TABLE IF NOT EXISTS sources (
  tenant TEXT NOT NULL, kind TEXT NOT NULL, id TEXT NOT NULL,
  seq INTEGER NOT NULL, revision TEXT NOT NULL, buried INTEGER NOT NULL,
  parent TEXT, title TEXT NOT NULL, model TEXT,
  hashes TEXT NOT NULL, texts TEXT NOT NULL, vectors BLOB,
  PRIMARY KEY (tenant, kind, id)
);
CREATE INDEX IF NOT EXISTS sources_by_seq ON sources (tenant, seq, kind, id, buried);
CREATE INDEX IF NOT EXISTS sources_by_parent ON sources (tenant, parent) WHERE parent IS NOT NULL;
CREATE INDEX IF NOT EXISTS sources_without_vectors ON sources (tenant, kind, id)
  WHERE model IS NULL AND buried = 0 AND hashes <> '[]';
CREATE TABLE IF NOT EXISTS counters (tenant TEXT PRIMARY KEY, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS backfills (tenant TEXT PRIMARY KEY, run TEXT NOT NULL, counts TEXT) WITHOUT ROWID;
`;

const NEXT_SEQ =
  'INSERT INTO counters (tenant, seq) VALUES (?, 1) ON CONFLICT (tenant) DO UPDATE SET seq = seq + 1 RETURNING seq';
const PUT = `INSERT INTO sources (tenant, kind, id, seq, revision, buried, parent, title, model, hashes, texts, vectors)
  VALUES (?, ?, ?, ?, ?, 0, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, kind, id) DO UPDATE SET seq = excluded.seq, revision = excluded.revision, buried = 0,
    parent = excluded.parent, title = excluded.title, model = excluded.model, hashes = excluded.hashes,
    texts = excluded.texts, vectors = excluded.vectors
  WHERE excluded.revision >= sources.revision`;
const PUT_TOMBSTONE = `INSERT INTO sources (tenant, kind, id, seq, revision, buried, parent, title, model, hashes, texts, vectors)
  VALUES (?, ?, ?, ?, ?, 1, NULL, '', NULL, '[]', '[]', NULL)
  ON CONFLICT (tenant, kind, id) DO UPDATE SET seq = excluded.seq, revision = excluded.revision, buried = 1,
    parent = NULL, title = '', model = NULL, hashes = '[]', texts = '[]', vectors = NULL
  WHERE excluded.revision >= sources.revision`;
const IS_THERE = 'SELECT 1 FROM sources WHERE tenant = ? AND kind = ? AND id = ?';
const ANY = 'SELECT 1 FROM sources WHERE tenant = ? LIMIT 1';
const ADVANCE =
  'UPDATE sources SET revision = ? WHERE tenant = ? AND kind = ? AND id = ? AND revision = ? AND buried = 0';
const SUMMARY =
  'SELECT revision, buried, model, hashes FROM sources WHERE tenant = ? AND kind = ? AND id = ?';
const ATTACHMENTS = `SELECT id FROM sources WHERE tenant = ? AND parent = ? AND kind = 'attachment' AND buried = 0`;
const CHANGES = 'SELECT kind, id, seq, buried FROM sources WHERE tenant = ? AND seq > ? ORDER BY seq';
const LOAD =
  'SELECT seq, revision, parent, title, model, hashes, texts, vectors FROM sources WHERE tenant = ? AND kind = ? AND id = ? AND buried = 0';
const WITHOUT_VECTORS = `SELECT tenant, kind, id FROM sources
  WHERE model IS NULL AND buried = 0 AND hashes <> '[]' ORDER BY tenant, kind, id ${LIMIT_CLAUSE}`;
const RUN = 'SELECT run, counts FROM backfills WHERE tenant = ?';
const SAVE_RUN = `INSERT INTO backfills (tenant, run, counts) VALUES (?, ?, ?)
  ON CONFLICT (tenant) DO UPDATE SET run = excluded.run, counts = excluded.counts`;

/**
 * Stores the corpus in a SQLite file of its own, one row per source. Several processes may open it.
 * @throws {StoreUnavailable} when the file cannot be opened
 */
export const openSqliteCorpusStore = async ({ path }: { readonly path: string }): Promise<CorpusStore> => {
  const connection = await openSqlite({ path, pragmas: PRAGMAS, schema: SCHEMA });
  const { prepare, read } = connection;
  const grouped = groupedWrites(connection);
  const nextSeq = (tenantId: string): number => numberOf(prepare(NEXT_SEQ).get(tenantId), 'seq');

  const put = (tenantId: string, source: CorpusSource): boolean => {
    const { kind, id, revision, parent, title, model, chunks } = source;
    const values = [
      JSON.stringify(chunks.map(({ hash }) => hash)),
      JSON.stringify(chunks.map(({ text }) => text)),
      bytesOf(source) ?? null,
    ];
    const key = [tenantId, kind, id, nextSeq(tenantId)];
    return Number(prepare(PUT).run(...key, revision, parent, title, model, ...values).changes) > 0;
  };

  return {
    settlesWithin: 0,
    isEmpty: (tenantId) => read(() => prepare(ANY).get(tenantId) === undefined),
    summaries: (tenantId, keys) =>
      read(() => keys.map((key) => summaryOf(key, prepare(SUMMARY).get(tenantId, key.kind, key.id)))),
    put: (tenantId, sources) =>
      sources.length === 0
        ? Promise.resolve([])
        : grouped(() => sources.map((source) => put(tenantId, source))),
    advance: (tenantId, { kind, id }, from, to) =>
      grouped(() => Number(prepare(ADVANCE).run(to, tenantId, kind, id, from).changes) > 0),
    putTombstone: (tenantId, { kind, id }, revision, ifPresent) =>
      grouped(() => {
        if (ifPresent && prepare(IS_THERE).get(tenantId, kind, id) === undefined) return;
        prepare(PUT_TOMBSTONE).run(tenantId, kind, id, nextSeq(tenantId), revision);
      }),
    attachmentsOf: (tenantId, recordId) =>
      read(() =>
        prepare(ATTACHMENTS)
          .all(tenantId, recordId)
          .map((row) => textOf(row, 'id')),
      ),
    changes: (tenantId, after) => read(() => z.array(changeRow).parse(prepare(CHANGES).all(tenantId, after))),
    load: (tenantId, keys) =>
      read(() =>
        keys.map((key) => {
          const row = prepare(LOAD).get(tenantId, key.kind, key.id);
          return row && sourceOf(key, row, row.vectors instanceof Uint8Array ? row.vectors : undefined);
        }),
      ),
    withoutVectors: (limit) => read(() => z.array(keyRow).parse(prepare(WITHOUT_VECTORS).all(limit))),
    backfillRun: (tenantId) => read(() => runRow.optional().parse(prepare(RUN).get(tenantId))),
    saveBackfillRun: (tenantId, { run, counts }) =>
      grouped(() => {
        prepare(SAVE_RUN).run(tenantId, run, counts === null ? null : JSON.stringify(counts));
      }),
    close: connection.close,
  };
};
