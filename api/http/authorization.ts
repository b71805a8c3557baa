import type { IncomingMessage } from 'node:http';
import {
  type ApiTokenPrincipal,
  type CredentialFamily,
  type ExtensionPrincipal,
  familyOf,
  type Principal,
  type TenantRights,
  type UserPrincipal,
} from '../../application/core/commands/principal.ts';
import { DomainError, invalid, invalidCredential } from '../../domain/core/errors.ts';
import { grants } from '../../domain/identity/scopes.ts';
import { hasAssistant } from '../../domain/tenancy/tenant.ts';
import { planRequired } from '../../domain/webhooks/subscription-limits.ts';
import { headerValues } from './header-values.ts';
import type { Access } from './route.ts';

/**
 * Authenticates a bearer token of a family; a credential of another family is an `invalid_credential`.
 * @param token the text after `Bearer`; undefined without `Authorization`
 * @throws {DomainError} `unauthenticated`, `invalid_credential`, `credential_expired`, `tenant_suspended` …
 */
export type Authenticate = (
  token: string | undefined,
  family: CredentialFamily,
) => Principal | Promise<Principal>;

/** The rights of a tenant as stored now; undefined when the tenant does not exist. */
export type FreshRights = (tenantId: string) => Promise<TenantRights | undefined>;

type Guarded = Access & { kind: 'principals' };

/**
 * The one credential family that a route accepts.
 * @throws for an inconsistent entry, so that the server does not start
 */
export const accessFamily = (access: Guarded, operationId: string): CredentialFamily => {
  const families = new Set(access.kinds.map(familyOf));
  const [family] = families;
  if (family === undefined || families.size > 1) {
    throw new Error(`${operationId} must take credentials of exactly one family`);
  }
  const scoped = access.kinds.some((kind) => kind === 'extension' || kind === 'api_token');
  if (scoped !== (access.scope !== undefined)) {
    throw new Error(`${operationId} must name a scope exactly where it takes extensions or API tokens`);
  }
  return family;
};

const BEARER = /^bearer +([^\s,]+) *$/i;

/** The bearer token. Refuses several `Authorization` headers: a proxy and the server might read different ones. */
export const bearerToken = (request: IncomingMessage): string | undefined => {
  const [authorization, ...others] = headerValues(request, 'authorization');
  if (authorization === undefined) return undefined;
  const token = others.length === 0 ? BEARER.exec(authorization)?.[1] : undefined;
  if (token === undefined) throw invalidCredential();
  return token;
};

const delegatedRefused = (): DomainError =>
  new DomainError('delegated_credential_refused', 'This request needs a person’s own session.');

/**
 * Checks kind, role, scope, permission and entitlement. {@link Authenticate} has checked the family; this check covers
 * the family again, so that an error in {@link Authenticate} opens no route.
 * @throws {DomainError} 401, 402 or 403
 */
export const checkAccess = (access: Guarded, principal: Principal): void => {
  switch (principal.kind) {
    case 'user':
      checkLedger(access, principal.rights);
      if (!access.kinds.includes('user')) throw invalidCredential();
      checkPerson(access, principal);
      break;
    case 'extension':
    case 'api_token':
      checkLedger(access, principal.rights);
      if (!access.kinds.includes('user')) throw invalidCredential();
      checkDelegated(access, principal);
      break;
    case 'platform_admin':
      if (!access.kinds.includes('platform_admin')) throw invalidCredential();
      return;
    case 'partner':
      if (!access.kinds.includes('partner')) throw invalidCredential();
      if (access.permission !== undefined && !principal.permissions.includes(access.permission)) {
        throw new DomainError('partner_permission_missing', `The permission ${access.permission} is needed.`);
      }
      return;
    default:
      principal satisfies never;
  }
  checkRights(access, principal.rights);
};

/**
 * {@link checkAccess}; reads the tenant's rights again when the known rights do not suffice, because another process
 * may have granted more a moment ago. Synchronous when the known rights suffice.
 */
export const admitTo = (
  access: Guarded,
  principal: Principal,
  freshRights: FreshRights,
): Principal | Promise<Principal> => {
  const admitted = (found: Principal): Principal => {
    checkAccess(access, found);
    return found;
  };
  if (!('rights' in principal) || suffice(principal.rights, access)) return admitted(principal);
  return freshRights(principal.tenantId).then((rights = principal.rights) =>
    admitted({ ...principal, rights }),
  );
};

/** Whether the rights include the entitlement that the route requires, if it requires one. */
const suffice = ({ plan, entitlements }: TenantRights, { entitlement }: Guarded): boolean => {
  switch (entitlement) {
    case 'ledger':
      return entitlements.ledger;
    case 'assistant':
      return hasAssistant({ plan, entitlements });
    case 'webhooks':
      return plan !== 'free';
    case undefined:
      return true;
    default:
      return entitlement satisfies never;
  }
};

const checkRights = (access: Guarded, rights: TenantRights): void => {
  if (access.entitlement === undefined || suffice(rights, access)) return;
  switch (access.entitlement) {
    case 'ledger':
      throw new DomainError('not_entitled', 'The tenant does not have the entitlement for the ledger.', {
        listing_slug: 'service.ledger',
      });
    case 'assistant':
      throw new DomainError(
        'assistant_not_entitled',
        'The tenant does not have the entitlement for the assistant.',
      );
    case 'webhooks':
      throw planRequired();
    default:
      access.entitlement satisfies never;
  }
};

/** Runs first, so that a missing ledger entitlement (402) is answered before any 403. */
const checkLedger = (access: Guarded, rights: TenantRights): void => {
  if (access.entitlement === 'ledger') checkRights(access, rights);
};

const checkPerson = (access: Guarded, principal: UserPrincipal): void => {
  if (principal.tokenUse !== undefined && access.refuses?.includes('test_token')) throw delegatedRefused();
  if (access.roles !== undefined && !access.roles.includes(principal.role)) {
    throw new DomainError('admin_required', 'Only admins may do this.');
  }
  if (principal.impersonatedBy !== undefined && access.refuses?.includes('impersonation')) {
    throw new DomainError('forbidden', 'A platform admin may not do this during an impersonation.');
  }
};

const checkDelegated = (access: Guarded, principal: ExtensionPrincipal | ApiTokenPrincipal): void => {
  if (access.refuses?.includes(principal.kind)) throw delegatedRefused();
  if (!access.kinds.includes(principal.kind) || access.scope === undefined) {
    throw new DomainError('tenant_session_required', 'This request needs a person’s session.');
  }
  if (!grants(principal.scopes, access.scope)) {
    throw new DomainError('scope_missing', `The scope ${access.scope} is needed.`, {
      required: access.scope,
    });
  }
};

/**
 * `tenant_id` in a body or query may repeat the credential's tenant, but must not name another tenant.
 * @throws {DomainError} 403 `tenant_mismatch`
 */
export const checkTenant = (principal: Principal, named: unknown): void => {
  if (named === undefined || named === null || !('tenantId' in principal)) return;
  const { tenantId } = principal;
  const all = Array.isArray(named) ? named : [named];
  if (all.length > 0 && all.every((one) => one === tenantId)) return;
  throw new DomainError('tenant_mismatch', 'tenant_id is not the tenant of the credential.');
};

/**
 * Only the credential names a partner, so a partner that sends `partner_id` in a body or query gets an error, even for
 * its own id (specification, Enforcement rules; decisions, section 1).
 * @throws {DomainError} 400
 */
export const checkPartner = (principal: Principal, named: unknown): void => {
  if (named === undefined || named === null || principal.kind !== 'partner') return;
  throw invalid([
    {
      path: 'partner_id',
      code: 'not_allowed',
      message: 'Do not send partner_id: it is taken from the credential.',
    },
  ]);
};
