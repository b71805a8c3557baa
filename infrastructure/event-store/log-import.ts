import type { Position, StoredEvent } from '../../application/ports/event-store.ts';

/** The imported log, as its export describes it. */
export interface ImportedLog {
  /** Id of the export: an interrupted import continues only with the same export. */
  readonly id: string;
  readonly events: number;
  /** Position of the last event; undefined for an empty log. */
  readonly end: Position | undefined;
}

interface ImportProgress {
  /** True when the import is complete; servers may have written since. */
  readonly isComplete: boolean;
  /** Position of the last imported event; undefined before the first. */
  readonly last: Position | undefined;
}

/**
 * Writes an exported log into an empty event store. Each event keeps its stream, revision, bytes and position. Until
 * {@link finish} the store cannot be used as an event store.
 */
export interface LogImport {
  /**
   * Begins an import, or continues one of the same export.
   * @param isNew called before the first write of a new import; an error prevents that write
   * @throws {ImportError} when the store contains another log
   */
  begin(log: ImportedLog, isNew: () => Promise<void>): Promise<ImportProgress>;
  /** Appends the next events in log order; all are on disk when this resolves. @throws {ImportError} */
  append(events: readonly StoredEvent[]): Promise<void>;
  /**
   * Marks the import as complete, so that servers can open the store. Safe to repeat. @throws {ImportError} when
   * events are missing
   */
  finish(log: ImportedLog): Promise<void>;
  close(): Promise<void>;
}

/** An import that cannot continue. The message is one sentence without contents of events. */
export class ImportError extends Error {
  override readonly name = 'ImportError';
}

/** The event store holds an incomplete import, and waiting does not help. */
export class UnfinishedImport extends Error {
  override readonly name = 'UnfinishedImport';
  constructor() {
    super(
      'an import into this event log was not completed: run import-stores again before a server is started',
    );
  }
}
