import { setImmediate as nextTick } from 'node:timers/promises';
import type { IdempotencyStore, KeyUse } from '../../application/ports/idempotency-store.ts';
import { numberOf, openSqlite, optionalTextOf, type Row, textOf } from '../sqlite/connection.ts';
import { groupedWrites } from '../sqlite/grouped-writes.ts';
import { answerText, parseAnswer } from './answers.ts';

/** {@link IdempotencyStore.sweep} alone expires answers: the store has no clock. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS keys (
    scope TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, nonce TEXT NOT NULL, answer TEXT,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (scope, key)
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS keys_by_expiry ON keys (expires_at)`;

const PRAGMAS = [
  'journal_mode = WAL',
  // A recorded beginning must survive a power cut.
  'synchronous = FULL',
  // An expired answer is overwritten in the file.
  'secure_delete = ON',
];

const BEGIN =
  'INSERT INTO keys (scope, key, fingerprint, nonce, expires_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING';
const BEGUN = 'SELECT fingerprint, nonce FROM keys WHERE scope = ? AND key = ?';
const PUT = `INSERT INTO keys (scope, key, fingerprint, nonce, answer, expires_at) VALUES (?, ?, ?, '', ?, ?)
  ON CONFLICT DO UPDATE SET answer = excluded.answer, expires_at = excluded.expires_at WHERE answer IS NULL`;
const RELEASE = 'DELETE FROM keys WHERE scope = ? AND key = ? AND nonce = ? AND answer IS NULL';
const GET = 'SELECT answer FROM keys WHERE scope = ? AND key = ? AND answer IS NOT NULL';

/** Rows of one transaction of a sweep, so that it blocks other work for a few milliseconds only. */
const SWEPT_AT_ONCE = 200;
const SWEEP = `DELETE FROM keys WHERE (scope, key) IN (
  SELECT scope, key FROM keys WHERE expires_at <= ? LIMIT ${SWEPT_AT_ONCE})`;

// Few rows, since an answer may have megabytes.
const NEXT_ROWS = 'SELECT * FROM keys WHERE (scope, key) > (?, ?) ORDER BY scope, key LIMIT 20';

/**
 * Stored answers in a SQLite file of their own, which several processes may open.
 * @throws {StoreUnavailable} when the file cannot be opened
 */
export async function openSqliteIdempotencyStore({ path }: { path: string }): Promise<IdempotencyStore> {
  const connection = await openSqlite({ path, pragmas: PRAGMAS, schema: SCHEMA });
  const { prepare, read, write } = connection;
  const grouped = groupedWrites(connection);
  return {
    get: (scope, key) =>
      read(() => {
        const row = prepare(GET).get(scope, key);
        return row === undefined ? undefined : parseAnswer(textOf(row, 'answer'));
      }),
    begin: (scope, key, use, expiresAt) =>
      grouped(() => {
        const { changes } = prepare(BEGIN).run(scope, key, use.fingerprint, use.nonce, expiresAt);
        const row = changes === 0 ? prepare(BEGUN).get(scope, key) : undefined;
        if (row === undefined) return { first: true, use };
        return { first: false, use: useIn(row) };
      }),
    release: (scope, key, nonce) =>
      grouped(() => {
        prepare(RELEASE).run(scope, key, nonce);
      }),
    put: (scope, key, answer, expiresAt) =>
      grouped(() => {
        prepare(PUT).run(scope, key, answer.fingerprint, answerText(answer), expiresAt);
      }),
    list: async function* () {
      for (let after = { scope: '', key: '' }; ; ) {
        const rows = await read(() => prepare(NEXT_ROWS).all(after.scope, after.key));
        if (rows.length === 0) return;
        for (const row of rows) {
          after = { scope: textOf(row, 'scope'), key: textOf(row, 'key') };
          const kept = { ...after, expiresAt: numberOf(row, 'expires_at') };
          const use = useIn(row);
          // An answer that was put without a beginning has no nonce.
          if (use.nonce !== '') yield { ...kept, use };
          const answer = optionalTextOf(row, 'answer');
          if (answer !== undefined) yield { ...kept, answer: parseAnswer(answer) };
        }
      }
    },
    sweep: async (now) => {
      const sweepSome = () => write(() => Number(prepare(SWEEP).run(now).changes));
      while ((await sweepSome()) === SWEPT_AT_ONCE) await nextTick();
    },
    close: connection.close,
  };
}

const useIn = (row: Row): KeyUse => ({
  fingerprint: textOf(row, 'fingerprint'),
  nonce: textOf(row, 'nonce'),
});
