import { ERROR_CODES, type ErrorCode } from '../../domain/core/errors.ts';
import type { Route } from './route.ts';

const isErrorCode = (code: string): code is ErrorCode => ERROR_CODES.some((known) => known === code);

/** Whether a route accepts `Idempotency-Key`. */
export const isKeyed = ({ access, method, keyedBy }: Route): boolean =>
  (access.kind === 'principals' || keyedBy === 'stranger') && ['post', 'put', 'patch'].includes(method);

/** Error codes of a route: codes that follow from its access and other members, and codes that it lists. */
export const errorCodes = (route: Route): ReadonlySet<ErrorCode> => {
  const codes = new Set<ErrorCode>([
    'validation_failed',
    'malformed_json',
    'not_found',
    'payload_too_large',
    'unsupported_media_type',
    'internal_error',
    'unavailable',
  ]);
  if (route.access.kind === 'principals') {
    for (const code of ['unauthenticated', 'invalid_credential', 'credential_expired'] as const)
      codes.add(code);
    for (const code of ['forbidden', 'tenant_suspended', 'tenant_mismatch', 'rate_limited'] as const) {
      codes.add(code);
    }
    for (const code of accessErrors(route.access)) codes.add(code);
  }
  if (route.limit !== undefined) codes.add('rate_limited');
  if (isKeyed(route)) codes.add('idempotency_key_reused');
  if (route.reads?.length) codes.add('read_model_behind');
  for (const code of route.errors ?? []) {
    if (!isErrorCode(code)) throw new Error(`${route.operationId} names the unknown error code ${code}`);
    codes.add(code);
  }
  return codes;
};

const accessErrors = (access: Extract<Route['access'], { kind: 'principals' }>): readonly ErrorCode[] => {
  const codes: ErrorCode[] = [];
  if (access.roles !== undefined) codes.push('admin_required');
  if (access.kinds.includes('user')) codes.push('tenant_session_required');
  if (access.scope !== undefined) codes.push('scope_missing');
  if (access.refuses !== undefined) codes.push('delegated_credential_refused');
  if (access.kinds.includes('partner')) codes.push('partner_permission_missing');
  if (access.entitlement === 'ledger') codes.push('not_entitled');
  if (access.entitlement === 'assistant') codes.push('assistant_not_entitled');
  if (access.entitlement === 'webhooks') codes.push('plan_required');
  return codes;
};
