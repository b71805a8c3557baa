/**
 * Stable error codes of the interface (specification, Errors; decisions, section 2). The domain throws them with
 * details; a table in `api/` maps each code to its HTTP status.
 */
export const ERROR_CODES = [
  'validation_failed',
  'malformed_json',
  'invalid_filter',
  'unauthenticated',
  'invalid_credential',
  'credential_expired',
  'not_entitled',
  'forbidden',
  'admin_required',
  'scope_missing',
  'tenant_session_required',
  'tenant_mismatch',
  'not_a_participant',
  'not_the_sender',
  'assistant_not_entitled',
  'delegated_credential_refused',
  'partner_permission_missing',
  'plan_required',
  'tenant_suspended',
  'not_found',
  'method_not_allowed',
  'upgrade_required',
  'conflict',
  'invalid_transition',
  'immutable',
  'invoice_locked',
  'already_exists',
  'in_use',
  'subscription_paused',
  'tenant_required',
  'assistant_upstream_unexpected',
  'window_overlap',
  'payload_too_large',
  'unsupported_media_type',
  'rate_limited',
  'guard_rejected',
  'constraint_violated',
  'unbalanced',
  'unknown_account',
  'account_inactive',
  'mixed_currency',
  'period_locked',
  'url_refused',
  'subscription_limit_reached',
  'quota_exceeded',
  'idempotency_key_reused',
  'unknown_template_variable',
  'nothing_to_invoice',
  'upstream_refused',
  'internal_error',
  'embedding_model_unavailable',
  'read_model_behind',
  'unavailable',
] as const;

export type ErrorCode = (typeof ERROR_CODES)[number];

export interface FieldIssue {
  /** Dotted path into the body, the query or the path (`lines.0.debit`). */
  readonly path: string;
  readonly code: string;
  readonly message: string;
}

/** Maximum number of issues in one answer. */
export const MAX_ISSUES = 1_000;

/** A refusal that the caller sees. `api/` answers every other thrown value with a refusal, mostly `internal_error`. */
export class DomainError extends Error {
  override readonly name = 'DomainError';
  readonly code: ErrorCode;
  readonly details: Readonly<Record<string, unknown>> | undefined;

  constructor(code: ErrorCode, message: string, details?: Readonly<Record<string, unknown>>) {
    super(message);
    this.code = code;
    this.details = details;
  }

  /** The issues in the details, or an empty list. */
  get issues(): readonly FieldIssue[] {
    const issues = this.details?.issues;
    // All code that sets `issues` gives a list of this type.
    return Array.isArray(issues) ? issues : [];
  }
}

export const isRefusal = (error: unknown, code: ErrorCode): boolean =>
  error instanceof DomainError && error.code === code;

/** A `validation_failed` with `details.issues` (the first {@link MAX_ISSUES}) and `details.field`, the first path. */
export const invalid = (issues: readonly FieldIssue[]): DomainError =>
  new DomainError('validation_failed', issues[0]?.message ?? 'The request is not valid.', {
    field: issues[0]?.path ?? '',
    issues: issues.slice(0, MAX_ISSUES),
  });

/** A `validation_failed` with one issue. */
export const invalidAt = (path: string, code: string, message: string): DomainError =>
  invalid([{ path, code, message }]);

/** A `constraint_violated` with one issue. */
export const violated = (path: string, code: string, message: string): DomainError =>
  new DomainError('constraint_violated', message, { issues: [{ path, code, message }] });

/** The same answer, byte for byte, for an unknown id, a malformed id and another tenant's id. */
export const notFound = (): DomainError => new DomainError('not_found', 'No such resource.');

/** @throws `not_found` for a state that does not exist */
export const existing = <Found extends { readonly exists: true }>(
  state: { readonly exists: false } | Found,
): Found => {
  if (!state.exists) throw notFound();
  return state;
};

/** One message for every reason, so that a refusal does not reveal which check failed. */
export const invalidCredential = (): DomainError =>
  new DomainError('invalid_credential', 'The credential is not valid.');

export const tenantSuspended = (): DomainError =>
  new DomainError('tenant_suspended', 'The tenant is suspended.');

/** For a command that lost races too often or for too long. */
export const tooBusy = (): DomainError =>
  new DomainError('unavailable', 'The resource is too busy at the moment.');
