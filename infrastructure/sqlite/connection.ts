import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { DatabaseSync, type SQLOutputValue, type StatementSync } from 'node:sqlite';
import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailable } from '../../application/ports/event-store.ts';
import { codeOf } from '../error-code.ts';
import { isTransient, resultCode } from './errors.ts';
import { transaction } from './transaction.ts';

/** Time (ms) for which a read or write is retried while another connection holds a lock. */
const BUSY_DEADLINE_MS = 5_000;

/** A connection to a file that other threads and processes may have open. */
export interface SqliteConnection {
  /** Prepares a statement, cached by its text. */
  prepare(sql: string): StatementSync;
  /** Prepares a statement without caching it, for texts that vary. */
  prepareOnce(sql: string): StatementSync;
  exec(sql: string): void;
  /** @throws {StoreUnavailable} */
  read<T>(query: () => T): Promise<T>;
  /**
   * Runs `change` in a transaction that holds the write lock from its start, so that its reads stay valid until it
   * commits. @throws {StoreUnavailable} and the errors of `change`, after a rollback
   */
  write<T>(change: () => T): Promise<T>;
  /** Runs `query` on one snapshot of the file. Call it inside {@link read}. */
  snapshot<T>(query: () => T): T;
  /** Reads a page of the file. @throws {StoreUnavailable} */
  ping(): Promise<void>;
  close(): Promise<void>;
}

interface SqliteOptions {
  readonly path: string;
  /** Pragmas to set after opening, such as `journal_mode = WAL`. */
  readonly pragmas: readonly string[];
  /** `CREATE … IF NOT EXISTS` statements. */
  readonly schema: string;
}

/** @throws {StoreUnavailable} when the file cannot be opened */
export async function openSqlite({ path, pragmas, schema }: SqliteOptions): Promise<SqliteConnection> {
  if (path !== ':memory:') await mkdir(dirname(path), { recursive: true });
  const db = await retrying(() => new DatabaseSync(path, { timeout: 4 }));
  const statements = new Map<string, StatementSync>();

  function prepare(sql: string): StatementSync {
    const known = statements.get(sql);
    if (known !== undefined) return known;
    const made = db.prepare(sql);
    statements.set(sql, made);
    return made;
  }

  const connection: SqliteConnection = {
    prepare,
    prepareOnce: (sql) => db.prepare(sql),
    exec: (sql) => db.exec(sql),
    read: (query) => retrying(query),
    write: (change) => retrying(() => transaction(db, change)),
    snapshot: (query) => transaction(db, query, 'BEGIN'),
    ping: () => retrying(() => void prepare('SELECT 1 FROM sqlite_master LIMIT 1').get()),
    async close() {
      statements.clear();
      if (db.isOpen) db.close();
    },
  };
  try {
    for (const pragma of pragmas) await retrying(() => db.exec(`PRAGMA ${pragma}`));
    await connection.write(() => db.exec(schema));
    return connection;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Retries an action while the database is busy, with pauses for other work. SQLite's own busy timeout blocks the event
 * loop, so it is kept short.
 * @param wrap converts the error of the last attempt
 */
export async function retrying<T>(action: () => T, wrap = asUnavailable): Promise<T> {
  const deadline = Date.now() + BUSY_DEADLINE_MS;
  for (;;) {
    try {
      return action();
    } catch (error) {
      if (!isTransient(error) || Date.now() > deadline) throw wrap(error);
    }
    await delay(2 + Math.random() * 18);
  }
}

/** READONLY, IOERR, CORRUPT, FULL, CANTOPEN, NOTADB: not worth a retry. */
const UNUSABLE: ReadonlySet<number> = new Set([8, 10, 11, 13, 14, 26]);

function asUnavailable(error: unknown): unknown {
  const code = resultCode(error);
  const closed = codeOf(error) === 'ERR_INVALID_STATE';
  if (!closed && !isTransient(error) && (code === undefined || !UNUSABLE.has(code))) return error;
  return new StoreUnavailable(error instanceof Error ? error.message : String(error), { cause: error });
}

/**
 * Limits rows. With a bare parameter, SQLite would compile the statement again in each run, to plan for the
 * number.
 */
export const LIMIT_CLAUSE = 'LIMIT ? + 0';

/** Whether the table of a prepared statement is gone: another process has dropped a generation. */
export function isMissingTable(error: unknown): boolean {
  return resultCode(error) === 1 && error instanceof Error && error.message.includes('no such table');
}

export type Row = Record<string, SQLOutputValue>;

export function textOf(row: Row | undefined, column: string): string {
  const value = row?.[column];
  if (typeof value !== 'string') throw new TypeError(`column ${column} holds no text`);
  return value;
}

export function optionalTextOf(row: Row, column: string): string | undefined {
  return row[column] === null ? undefined : textOf(row, column);
}

export function numberOf(row: Row | undefined, column: string): number {
  const value = row?.[column];
  if (typeof value !== 'number') throw new TypeError(`column ${column} holds no number`);
  return value;
}
