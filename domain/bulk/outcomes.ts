import { DomainError } from '../core/errors.ts';
import { truncate } from '../core/text.ts';
import type { Refusal } from '../workflow/job.ts';

/** Why a row can be left unchanged (specification, Bulk operation session). The set is closed. */
export const OUTCOME_CODES = [
  'record_not_found',
  'invalid_fsm_from_state',
  'guard_failed',
  'missing_required',
  'type_mismatch',
  'unknown_enum',
  'unknown_field',
  'selection_drift',
] as const;
export type OutcomeCode = (typeof OUTCOME_CODES)[number];

export interface RowRefusal {
  readonly code: OutcomeCode;
  readonly message: string;
}

/** Maximum length of a message in characters: a session stores thousands of messages. */
const MAX_MESSAGE = 300;

const refusal = (code: OutcomeCode, message: string): RowRefusal => ({
  code,
  message: message.length <= MAX_MESSAGE ? message : `${truncate(message, MAX_MESSAGE - 1)}…`,
});

export const recordNotFound: RowRefusal = refusal('record_not_found', 'The record does not exist.');

export const selectionDrift: RowRefusal = refusal(
  'selection_drift',
  'The record no longer matched the filter when the session was committed.',
);

/** A record without a job has no state that a transition could start from. */
export const withoutJob: RowRefusal = refusal('invalid_fsm_from_state', 'The record has no job.');

/** An unexpected error; the server's own log has the details. */
export const notProcessable: RowRefusal = refusal('guard_failed', 'The row could not be processed.');

export const tooLarge: RowRefusal = refusal(
  'type_mismatch',
  'The record would become too large to be stored.',
);

/** Violations of `min`, `max`, `max_length` and references count as mismatches (decisions, section 5). */
const codeOfIssue = (code: string): OutcomeCode => {
  switch (code) {
    case 'missing_required':
    case 'unknown_enum':
    case 'unknown_field':
      return code;
    default:
      return 'type_mismatch';
  }
};

/** Maps an error of a single edit or deletion to a row outcome; undefined for other errors, such as a lost race. */
export const refusalOfError = (error: unknown): RowRefusal | undefined => {
  if (!(error instanceof DomainError)) return undefined;
  switch (error.code) {
    case 'not_found':
      return recordNotFound;
    case 'validation_failed':
    case 'constraint_violated': {
      const [first] = error.issues;
      if (first === undefined) return refusal('type_mismatch', error.message);
      const key = first.path.replace(/^values\./, '');
      return refusal(codeOfIssue(first.code), `${key}: ${first.message}`);
    }
    case 'in_use':
      return refusal('guard_failed', error.message);
    case 'payload_too_large':
      return tooLarge;
    default:
      return undefined;
  }
};

/** The row outcome of a refused transition; undefined for a lost race and for an unexpected state. */
export const refusalOfTransition = (refused: Refusal): RowRefusal | undefined => {
  switch (refused.kind) {
    case 'no_transition':
      return refusal('invalid_fsm_from_state', `The state ${refused.state} has no such transition.`);
    case 'role_not_admitted':
      return refusal('guard_failed', 'The role of the user may not make this transition.');
    case 'fields_missing':
      return refusal('missing_required', `The transition needs values for ${refused.keys.join(', ')}.`);
    case 'guard_rejected':
      return refusal(
        'guard_failed',
        `The guard of the transition from ${refused.from} to ${refused.to} does not hold: ${refused.guard}`,
      );
    case 'lost_race':
    case 'unexpected_state':
      return undefined;
    default:
      return refused satisfies never;
  }
};

/** The row outcome for a record that cannot be deleted, because a remaining record refers to it. */
export const restricted = (referrer: {
  readonly referrerId: string;
  readonly entityName: string;
  readonly fieldKey: string;
}): RowRefusal =>
  refusal(
    'guard_failed',
    `The record is in use: ${referrer.entityName} ${referrer.referrerId} points to it by ${referrer.fieldKey}.`,
  );
