/** Faults that a check of an export finds (docs/audit-format.md, "Checks"). */

type FaultKind =
  /** A line that is not an event, or a last line without a line feed. */
  | 'unreadable_line'
  /** An event of another tenant. */
  | 'foreign_event'
  /** A position not greater than the one before. */
  | 'out_of_order'
  | 'missing_event'
  | 'repeated_event'
  | 'changed_event'
  /** An event with a valid chain that the signed list does not have. */
  | 'inserted_event'
  /** The view differs from a stored text that is not sealed. */
  | 'changed_view'
  /** A head that is malformed or not signed with the key. */
  | 'bad_signature'
  /** A head of another tenant. */
  | 'foreign_head'
  | 'old_head'
  /** The events do not match the head's root; only its list of streams can name the difference. */
  | 'root_mismatch';

/** The first fault. `revision` of a missing event is the first missing one. */
export interface Fault {
  readonly kind: FaultKind;
  /** Line number from 1 of the event, or of its place. */
  readonly line: number | null;
  readonly stream: string | null;
  readonly revision: number | null;
  readonly message: string;
}

export interface Verdict {
  readonly verified: boolean;
  readonly fault: Fault | null;
  readonly tenant_id: string | null;
  /** Events whose chain was checked. */
  readonly events: number;
  readonly streams: number;
  /** The newest head that matches the export; null without heads. */
  readonly head: { readonly position: string; readonly signed_at: string } | null;
  /** Events after that head: chained, but possibly incomplete. */
  readonly not_covered: number;
}

/** Ends a check with a fault. */
export class Faulty extends Error {
  override readonly name = 'Faulty';
  readonly fault: Fault;

  constructor(
    kind: FaultKind,
    message: string,
    where: { line?: number; stream?: string; revision?: number } = {},
  ) {
    super(message);
    const { line = null, stream = null, revision = null } = where;
    this.fault = { kind, line, stream, revision, message };
  }
}
