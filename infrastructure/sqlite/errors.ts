import { StoreUnavailable } from '../../application/ports/event-store.ts';

/** Primary result codes of transient errors: another connection holds the lock, or recovers the WAL. */
const TRANSIENT = new Set([5 /* BUSY */, 6 /* LOCKED */, 15 /* PROTOCOL */]);

/** SQLite's primary result code of a `node:sqlite` error; undefined for any other error. */
export function resultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode & 0xff : undefined;
}

export function isTransient(error: unknown): boolean {
  const code = resultCode(error);
  return code !== undefined && TRANSIENT.has(code);
}

/** Wraps a database error (disk full, I/O error, damaged file, locked too long) for callers of the port. */
export function unavailable(what: string, cause: unknown): StoreUnavailable {
  if (cause instanceof StoreUnavailable) return cause;
  const reason = cause instanceof Error ? cause.message : String(cause);
  return new StoreUnavailable(`${what}: ${reason}`, { cause });
}
