import type { Position, StoredEvent } from '../../application/ports/event-store.ts';

/** The log that an import makes, as its export describes it. */
export interface ImportedLog {
  /** Of the export: an import that was cut off goes on with the same one alone. */
  readonly id: string;
  readonly events: number;
  /** Position of the last event; undefined for an empty log. */
  readonly end: Position | undefined;
}

export interface ImportProgress {
  /** True: servers may have written since, and nothing is to be imported any more. */
  readonly isComplete: boolean;
  /** Position of the last imported event; undefined before the first. */
  readonly last: Position | undefined;
}

/**
 * Writes an exported log into an empty event store. Each event keeps its stream, revision, bytes and position. Until
 * {@link finish} the store refuses to be opened as an event store.
 */
export interface LogImport {
  /**
   * Begins, or goes on with the same export.
   * @param isNew asked before the first write of a new import, which its error prevents
   * @throws {ImportError} when the store holds another log
   */
  begin(log: ImportedLog, isNew: () => Promise<void>): Promise<ImportProgress>;
  /** The next events in the order of the log, all on disk when this resolves. @throws {ImportError} */
  append(events: readonly StoredEvent[]): Promise<void>;
  /** Opens the store for servers. Safe to repeat. @throws {ImportError} when events are missing */
  finish(log: ImportedLog): Promise<void>;
  close(): Promise<void>;
}

/** An import that cannot be made. The message is one sentence without contents of events. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

/** Text for an event store that an import has begun to fill. */
export const UNFINISHED =
  'an import into this event log was not completed: run import-stores again before a server is started';
