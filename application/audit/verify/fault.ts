/** Faults that a check of an export finds (docs/audit-format.md, "Checks"). */

type FaultKind =
  /** A line that is not an event, or a last line without a line feed. */
  | 'unreadable_line'
  /** An event of another tenant. */
  | 'foreign_event'
  /** A position that is not greater than the position of the line before. */
  | 'out_of_order'
  | 'missing_event'
  | 'repeated_event'
  | 'changed_event'
  /** An event with a valid chain that the stream did not have when the head was signed. */
  | 'inserted_event'
  /** A view differs from the stored text in a field that is not sealed. */
  | 'changed_view'
  /** A malformed head, a head that was not signed with the key, or a list of streams that does not match its head. */
  | 'bad_signature'
  /** A head of another tenant. */
  | 'foreign_head'
  | 'old_head'
  /** Events that do not match a head without a list of streams, or two heads of one position with different roots. */
  | 'root_mismatch';

/** The first fault of an export. For missing events, `revision` is the first missing revision. */
export interface Fault {
  readonly kind: FaultKind;
  /** Line number, from 1, of the event or of the first event after a missing one; null when unknown. */
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
  /** The newest head that matches the export; null when none was found to match. */
  readonly head: { readonly position: string; readonly signed_at: string } | null;
  /** Events after `head`: their chains were checked, but further events may have been removed from the end. */
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
