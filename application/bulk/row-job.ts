import type { RowRefusal } from '../../domain/bulk/outcomes.ts';
import type { OpParams } from '../../domain/bulk/session-events.ts';
import type { Cause } from '../codec.ts';
import type { Position } from '../ports/event-store.ts';
import type { SelectedBy } from './ports.ts';

/** A commit, as each of its rows needs to know it. */
export interface RowJob {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly entityName: string;
  readonly opParams: OpParams;
  /** Of a selection by filter: rows that it does not select any more are left alone. */
  readonly selectedBy: SelectedBy | undefined;
  readonly committedBy: string;
  /** Of the commit; each row has a causation of its own. */
  readonly cause: Cause;
  /** Where the commit began in the log. */
  readonly since: Position;
  /** Somebody worked on the session before, and may have had rows done that were not recorded. */
  readonly isRetaken: boolean;
}

export type RowResult =
  | { readonly kind: 'succeeded' }
  | { readonly kind: 'skipped' }
  | { readonly kind: 'error'; readonly currentState: string; readonly refusal: RowRefusal }
  /** The deletion is refused as long as the referrer is there. */
  | {
      readonly kind: 'restricted';
      readonly currentState: string;
      readonly refusal: RowRefusal;
      readonly referrerId: string;
    };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export const isRecordId = (text: string): boolean => UUID.test(text);

/**
 * The causation of what a session does to a row. It tells which session that was, and no request can name it: a colon
 * is in no request id.
 */
export const rowCausation = (sessionId: string, recordId: string): string => `bulk:${sessionId}:${recordId}`;

/** Deletions of a session bear its name: a record that is gone tells whether the session deleted it. */
export const deletionPrefix = (sessionId: string): string => `bulk:${sessionId}:`;

export const isDeletionOf = (sessionId: string, deletionId: string): boolean =>
  deletionId.startsWith(deletionPrefix(sessionId));
