import type { z } from 'zod';
import type {
  PartnerPrincipal,
  PlatformAdminPrincipal,
  Principal,
  TenantPrincipal,
  UserPrincipal,
} from '../../application/core/commands/principal.ts';
import type { Scope } from '../../domain/identity/scopes.ts';
import { type Access, type Definition, type Route, route } from '../http/route.ts';

type Schema = z.ZodType | undefined;
type Guarded = Access & { kind: 'principals' };
type Untagged<T = Route> = Omit<T, 'tag'> & { readonly tag?: string };
type Without<T> = Omit<Untagged<T>, 'access'>;

/** Adds the area's tag to routes without a tag, and `guards` to the access of those that need a credential. */
export const tagged = (
  tag: string,
  routes: readonly Untagged[],
  guards: Pick<Guarded, 'refuses' | 'entitlement' | 'permission'> = {},
): Route[] =>
  routes.map((each) => ({
    ...each,
    tag: each.tag || tag,
    access: each.access.kind === 'public' ? each.access : { ...guards, ...each.access },
  }));

/** A path of the specification without prefix, also served under `/api/v1` (decisions, section 1). */
export const bothPaths = (path: string) => ({ path, aliases: [`/api/v1${path}`] });

/** A route for a person of a tenant; the handler sees a user. */
export const personRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<UserPrincipal, P, Q, B>> & Pick<Guarded, 'refuses' | 'entitlement'>,
): Untagged => sessionRoute(definition, {});

/** As {@link personRoute}, for admins of the tenant. */
export const adminRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<UserPrincipal, P, Q, B>> & Pick<Guarded, 'refuses' | 'entitlement'>,
): Untagged => sessionRoute(definition, { roles: ['admin'] });

const sessionRoute = <P extends Schema, Q extends Schema, B extends Schema>(
  definition: Without<Definition<UserPrincipal, P, Q, B>> & Pick<Guarded, 'refuses' | 'entitlement'>,
  more: Pick<Guarded, 'roles'>,
): Untagged => {
  const { refuses, entitlement, ...rest } = definition;
  return route<UserPrincipal, P, Q, B>({
    tag: '',
    ...rest,
    access: {
      kind: 'principals',
      kinds: ['user'],
      ...more,
      ...(refuses === undefined ? {} : { refuses }),
      ...(entitlement === undefined ? {} : { entitlement }),
    },
  });
};

/**
 * A route for persons, and for extensions and API tokens with `scope`. `roles` apply to persons only; the scope
 * replaces the role of the others (decisions, section 3).
 */
export const scopedRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<TenantPrincipal, P, Q, B>> & {
    readonly scope: Scope;
  } & Pick<Guarded, 'roles'>,
): Untagged => {
  const { scope, roles, ...rest } = definition;
  return route<TenantPrincipal, P, Q, B>({
    tag: '',
    ...rest,
    access: {
      kind: 'principals',
      kinds: ['user', 'extension', 'api_token'],
      scope,
      ...(roles === undefined ? {} : { roles }),
    },
  });
};

/** A route without a credential. */
export const publicRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<Principal, P, Q, B>>,
): Untagged => route<Principal, P, Q, B>({ tag: '', ...definition, access: { kind: 'public' } });

/** A route for platform admins. */
export const platformRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<PlatformAdminPrincipal, P, Q, B>>,
): Untagged =>
  route<PlatformAdminPrincipal, P, Q, B>({
    tag: '',
    ...definition,
    access: { kind: 'principals', kinds: ['platform_admin'] },
  });

/** A route for partners, with `permission` if one is needed. */
export const partnerRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<PartnerPrincipal, P, Q, B>> & Pick<Guarded, 'permission'>,
): Untagged => {
  const { permission, ...rest } = definition;
  return route<PartnerPrincipal, P, Q, B>({
    tag: '',
    ...rest,
    access: {
      kind: 'principals',
      kinds: ['partner'],
      ...(permission === undefined ? {} : { permission }),
    },
  });
};
