import type { IncomingMessage } from 'node:http';
import type { Principal, PrincipalKind } from '../../application/principal.ts';
import { DomainError } from '../../domain/errors.ts';
import type { Access } from './route.ts';

/** What a route asks of a credential. One object per route, made once. */
export interface AuthenticationContext {
  /** The kinds of principals that the route takes; a credential of another family is `invalid_credential`. */
  readonly kinds: readonly PrincipalKind[];
}

/**
 * Turns a bearer token into a principal.
 * @param token what stands after `Bearer`; undefined when the request has no `Authorization`
 * @throws {DomainError} `unauthenticated`, `invalid_credential`, `credential_expired`, `tenant_suspended` …
 */
export type Authenticate = (
  token: string | undefined,
  context: AuthenticationContext,
) => Principal | Promise<Principal>;

const BEARER = /^bearer +([^\s,]+) *$/i;

const refused = (): DomainError => new DomainError('invalid_credential', 'The credential is not valid.');

/**
 * The token of the one `Authorization` header. Node keeps the first of several, so they are counted in the raw
 * headers: two credentials are a disagreement somebody else may have read differently.
 */
export const bearerToken = ({ headers, rawHeaders }: IncomingMessage): string | undefined => {
  const header = headers.authorization;
  if (header === undefined) return undefined;
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i];
    if (name?.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  const token = count === 1 ? BEARER.exec(header)?.[1] : undefined;
  if (token === undefined) throw refused();
  return token;
};

/**
 * Kind and role. The kind is checked by {@link Authenticate} already; a second look costs nothing and keeps one
 * family's token out of another's routes if it is forgotten there.
 * @throws {DomainError} 401 or 403
 */
export const checkAccess = (access: Access & { kind: 'principals' }, principal: Principal): void => {
  if (!access.kinds.includes(principal.kind)) throw refused();
  if (access.roles !== undefined && principal.kind === 'user' && !access.roles.includes(principal.role)) {
    throw new DomainError('admin_required', 'This is for admins.');
  }
};

/**
 * `tenant_id` in a body or query may repeat the credential's tenant, never name another one.
 * @throws {DomainError} 403 `tenant_mismatch`
 */
export const checkTenant = (principal: Principal, named: unknown): void => {
  if (named === undefined || named === null || !('tenantId' in principal)) return;
  const { tenantId } = principal;
  const all = Array.isArray(named) ? named : [named];
  if (all.length > 0 && all.every((one) => one === tenantId)) return;
  throw new DomainError('tenant_mismatch', 'tenant_id is not the tenant of the credential.');
};
