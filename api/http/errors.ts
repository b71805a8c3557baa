import { EventTooLarge, MAX_EVENT_BYTES, StoreUnavailable } from '../../application/ports/event-store.ts';
import { InvalidCursor, SearchGivenUp, TooManySearches } from '../../application/ports/searches.ts';
import { DomainError, type ErrorCode } from '../../domain/core/errors.ts';
import { invalidCursor } from './cursor.ts';

/** HTTP status of every error code (decisions, section 2). The type requires a status for each code. */
export const STATUS_OF: Readonly<Record<ErrorCode, number>> = {
  validation_failed: 400,
  malformed_json: 400,
  invalid_filter: 400,
  unauthenticated: 401,
  invalid_credential: 401,
  credential_expired: 401,
  not_entitled: 402,
  forbidden: 403,
  admin_required: 403,
  scope_missing: 403,
  tenant_session_required: 403,
  tenant_mismatch: 403,
  not_a_participant: 403,
  not_the_sender: 403,
  assistant_not_entitled: 403,
  delegated_credential_refused: 403,
  partner_permission_missing: 403,
  plan_required: 403,
  tenant_suspended: 403,
  not_found: 404,
  method_not_allowed: 405,
  upgrade_required: 426,
  conflict: 409,
  invalid_transition: 409,
  immutable: 409,
  invoice_locked: 409,
  already_exists: 409,
  in_use: 409,
  subscription_paused: 409,
  tenant_required: 409,
  assistant_upstream_unexpected: 409,
  window_overlap: 409,
  payload_too_large: 413,
  unsupported_media_type: 415,
  rate_limited: 429,
  guard_rejected: 422,
  constraint_violated: 422,
  unbalanced: 422,
  unknown_account: 422,
  account_inactive: 422,
  mixed_currency: 422,
  period_locked: 422,
  url_refused: 422,
  subscription_limit_reached: 422,
  quota_exceeded: 422,
  idempotency_key_reused: 422,
  unknown_template_variable: 422,
  nothing_to_invoice: 422,
  upstream_refused: 422,
  internal_error: 500,
  embedding_model_unavailable: 503,
  read_model_behind: 503,
  unavailable: 503,
};

export interface ErrorBody {
  readonly error: ErrorCode;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
  /** The value of `X-Request-Id`. */
  readonly request_id?: string;
}

export interface ErrorAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly body: ErrorBody;
}

/** Codes after which a client may repeat the same request, in `details.retry_after` seconds or in one second. */
const RETRYABLE: ReadonlySet<ErrorCode> = new Set(['rate_limited', 'read_model_behind', 'unavailable']);

/** Codes whose bodies have no `details` (specification, Errors). */
const WITHOUT_DETAILS: ReadonlySet<ErrorCode> = new Set(['assistant_not_entitled', 'internal_error']);

const INTERNAL = 'Something went wrong on our side.';

const BEARER = { 'WWW-Authenticate': 'Bearer' };

const headersOf = (
  status: number,
  { code, details }: DomainError,
): Readonly<Record<string, string>> | undefined => {
  if (status === 401) return BEARER;
  if (code === 'upgrade_required') return { Upgrade: 'websocket', Connection: 'Upgrade' };
  if (code === 'method_not_allowed' && Array.isArray(details?.allowed)) {
    return { Allow: details.allowed.join(', ') };
  }
  if (!RETRYABLE.has(code)) return undefined;
  const seconds = Number(details?.retry_after ?? 1);
  return { 'Retry-After': String(Number.isFinite(seconds) ? Math.max(1, Math.ceil(seconds)) : 1) };
};

/** Converts any thrown value to a {@link DomainError} that reveals no internals. */
const domainErrorOf = (error: unknown): DomainError => {
  if (error instanceof DomainError) return error;
  if (error instanceof TooManySearches) {
    return new DomainError('unavailable', 'Too many searches are waiting. Try again later.', {
      retry_after: 2,
    });
  }
  if (error instanceof SearchGivenUp) {
    return new DomainError(
      'unavailable',
      'The search takes too long. Use a narrower filter, or try again later.',
      {
        retry_after: 2,
      },
    );
  }
  if (error instanceof StoreUnavailable) {
    return new DomainError('unavailable', 'A store is unavailable. Try again later.');
  }
  if (error instanceof InvalidCursor) return invalidCursor();
  if (error instanceof EventTooLarge) {
    return new DomainError('payload_too_large', 'The content is too large to be stored.', {
      limit: MAX_EVENT_BYTES,
    });
  }
  return new DomainError('internal_error', INTERNAL);
};

/** The answer to any thrown value. Logs nothing: that is left to the caller. */
export const errorAnswer = (thrown: unknown): ErrorAnswer => {
  const error = domainErrorOf(thrown);
  const status = STATUS_OF[error.code];
  const details = WITHOUT_DETAILS.has(error.code) ? undefined : error.details;
  const body: ErrorBody = {
    error: error.code,
    message: error.code === 'internal_error' ? INTERNAL : error.message,
    ...(details === undefined ? {} : { details }),
  };
  return { status, headers: headersOf(status, error), body };
};

/** The text of an error's body; `assistant_not_entitled` has error and message only (specification, Errors). */
export const errorText = (body: ErrorBody, requestId: string): string =>
  JSON.stringify(body.error === 'assistant_not_entitled' ? body : { ...body, request_id: requestId });

/** The limit that a request exceeded (docs/limits.md). */
export type ExceededLimit =
  | 'credential'
  | 'tenant'
  | 'address'
  | 'expensive_requests'
  | 'preview_rows'
  | 'sockets';

/** 429, with whole seconds until the next request is allowed. */
export const rateLimited = (seconds: number, limit: ExceededLimit): DomainError =>
  new DomainError('rate_limited', 'Too many requests. Wait, then try again.', {
    retry_after: Math.max(1, Math.ceil(seconds)),
    limit,
  });

/** 405 for a path without this method. */
export const methodNotAllowed = (allowed: readonly string[]): DomainError =>
  new DomainError('method_not_allowed', 'This path does not support this method.', { allowed });
