/** What a check of an export finds (docs/audit-format.md, "Checks"). */

export type FaultKind =
  /** A line that is no event, or the last one without its line feed. */
  | 'unreadable_line'
  /** An event of another tenant. */
  | 'foreign_event'
  /** A position that does not come after the one before. */
  | 'out_of_order'
  | 'missing_event'
  | 'repeated_event'
  | 'changed_event'
  /** There, and well chained, but not among what was sealed. */
  | 'inserted_event'
  /** The opened view differs from the stored text where nothing was sealed. */
  | 'changed_view'
  /** A head that was not signed with the key, or is none. */
  | 'bad_signature'
  /** A head of another tenant. */
  | 'foreign_head'
  | 'old_head'
  /** The events are not those that the head is over; which one differs only the list of heads tells. */
  | 'root_mismatch';

/** The first thing that is wrong. `revision` of a missing event is the first that is not there. */
export interface Fault {
  readonly kind: FaultKind;
  /** From 1; of the named event, or of where it should have been. */
  readonly line: number | null;
  readonly stream: string | null;
  readonly revision: number | null;
  readonly message: string;
}

export interface Verdict {
  readonly verified: boolean;
  readonly fault: Fault | null;
  readonly tenant_id: string | null;
  /** Events whose chain was followed. */
  readonly events: number;
  readonly streams: number;
  /** The newest head that the export agrees with; null where none was given. */
  readonly head: { readonly position: string; readonly signed_at: string } | null;
  /** Events after that head: chained, but nothing says that they are all. */
  readonly not_covered: number;
}

/** Ends a check. */
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
