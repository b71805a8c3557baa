import type { z } from 'zod';
import { ownerKey, type Principal } from '../../application/core/commands/principal.ts';
import { notFound } from '../../domain/core/errors.ts';
import { checkPartner, checkTenant } from './authorization.ts';
import { SENTENCES, validationError } from './issues.ts';

/** @throws {DomainError} 400 */
export const check = (schema: z.ZodType | undefined, value: unknown): unknown => {
  if (schema === undefined) return undefined;
  const result = schema.safeParse(value, SENTENCES);
  if (result.success) return result.data;
  throw validationError(result.error.issues);
};

/** Checks a tenant or partner named in a body or query. @throws {DomainError} 400, 403 */
export const checkNamed = (
  principal: Principal | undefined,
  named: Readonly<Record<string, unknown>>,
): void => {
  if (principal === undefined) return;
  checkTenant(principal, named.tenant_id);
  checkPartner(principal, named.partner_id);
};

/** Undefined for platform admins, partners and public routes, which have no tenant. */
export const tenantOf = (principal: Principal | undefined): string | undefined =>
  principal !== undefined && 'tenantId' in principal ? principal.tenantId : undefined;

/** The owner of a request's time slices; all requests to public routes share one owner. */
export const sliceOwnerOf = (principal: Principal | undefined): string =>
  principal === undefined ? 'public' : ownerKey(principal);

export const decode = (segment: string): string => {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw notFound();
  }
};
