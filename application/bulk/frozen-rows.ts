import { bulkStream, type SessionState } from '../../domain/bulk/session.ts';
import {
  BulkCommitStarted,
  BulkErrorsPreviewed,
  BulkRowsProcessed,
  BulkRowsResolved,
  type RowError,
} from '../../domain/bulk/session-events.ts';
import { type Cause, dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { type EventSource, eventsOf } from '../core/events/stream-events.ts';
import { streamName } from '../core/events/stream-name.ts';
import type { Position } from '../ports/event-store.ts';

/** Events per read; each may hold a thousand rows. */
const PAGE = 4;

const sessionEvents = (log: EventSource, tenantId: string, sessionId: string) =>
  eventsOf(log, streamName(tenantId, bulkStream.category, sessionId), 0, PAGE);

export interface Frozen {
  /** Ids in the order of the preview. */
  readonly rows: readonly string[];
  /** 1 for each row with a recorded result. */
  readonly doneRows: Uint8Array;
  /** Cause of the commit. */
  readonly cause: Cause;
  /** Position of the commit's start. */
  readonly since: Position;
}

/** Reads the rows and results of a committing session from its stream. */
export const readFrozen = async (
  log: EventSource,
  tenantId: string,
  session: SessionState,
): Promise<Frozen> => {
  const rows: string[] = [];
  const doneRows = new Uint8Array(session.counts.total_resolved);
  let commit: LoggedEvent | undefined;
  for await (const event of sessionEvents(log, tenantId, session.id)) {
    const frozen = dataOf(BulkRowsResolved, event);
    if (frozen?.attempt === session.attempt) for (const row of frozen.rows) rows.push(row.record_id);
    if (event.type === BulkCommitStarted.type) commit = event;
    const processed = dataOf(BulkRowsProcessed, event);
    if (processed === undefined) continue;
    for (const row of [...processed.succeeded, ...processed.skipped]) doneRows[row] = 1;
    for (const { row } of processed.errors) doneRows[row] = 1;
  }
  if (commit === undefined || rows.length !== doneRows.length)
    throw new Error(`session ${session.id} is not whole`);
  const { actor, impersonatedBy, correlationId, id: causationId, position: since } = commit;
  return { rows, doneRows, cause: { actor, impersonatedBy, correlationId, causationId }, since };
};

/** All row errors in the order of the rows: the commit's errors if it has ended, otherwise the preview's errors. */
export const readErrors = async (
  log: EventSource,
  tenantId: string,
  session: SessionState,
): Promise<readonly RowError[]> => {
  const hasEnded = session.status === 'committed' || session.status === 'errored';
  const errors: RowError[] = [];
  for await (const event of sessionEvents(log, tenantId, session.id)) {
    const previewed = hasEnded ? undefined : dataOf(BulkErrorsPreviewed, event);
    if (previewed?.attempt === session.attempt) errors.push(...previewed.errors);
    const processed = hasEnded ? dataOf(BulkRowsProcessed, event) : undefined;
    if (processed !== undefined) errors.push(...processed.errors);
  }
  return errors.toSorted((a, b) => a.row - b.row);
};
