import type { z } from 'zod';
import type {
  PartnerPrincipal,
  PlatformAdminPrincipal,
  Principal,
  TenantPrincipal,
  UserPrincipal,
} from '../../application/core/commands/principal.ts';
import { defined } from '../../domain/core/event.ts';
import type { Scope } from '../../domain/identity/scopes.ts';
import { type Access, type Definition, type Route, route } from '../http/route.ts';

type Schema = z.ZodType | undefined;
type Guarded = Access & { kind: 'principals' };
type Untagged<T = Route> = Omit<T, 'tag'> & { readonly tag?: string };
type Without<T> = Omit<Untagged<T>, 'access'>;

/**
 * Adds the area's tag to routes without a tag, and `guards` to the access of routes that need a credential. A guard of
 * the route itself takes precedence.
 */
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

type Guards = Omit<Guarded, 'kind' | 'kinds'>;
type Kind<A extends Principal, G = unknown> = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<A, P, Q, B>> & G,
) => Untagged;

/** Makes routes with `access` and the guards of a definition. An undefined guard would hide the area's guard. */
const kindOf =
  <A extends Principal>(access: Access): Kind<A, Guards> =>
  ({ refuses, entitlement, scope, roles, permission, ...definition }) =>
    route({
      tag: '',
      ...definition,
      access: { ...access, ...defined({ scope, roles, refuses, entitlement, permission }) },
    });

type SessionGuards = Pick<Guarded, 'refuses' | 'entitlement'>;

/** A route for a person of a tenant; the handler sees a user. */
export const personRoute: Kind<UserPrincipal, SessionGuards> = kindOf({
  kind: 'principals',
  kinds: ['user'],
});

/** Like {@link personRoute}, but for admins of the tenant only. */
export const adminRoute: Kind<UserPrincipal, SessionGuards> = kindOf({
  kind: 'principals',
  kinds: ['user'],
  roles: ['admin'],
});

/**
 * A route for persons, and for extensions and API tokens with `scope`. `roles` apply to persons only; for
 * extensions and API tokens, the scope replaces the role (decisions, section 3).
 */
export const scopedRoute: Kind<TenantPrincipal, { readonly scope: Scope } & Pick<Guarded, 'roles'>> = kindOf({
  kind: 'principals',
  kinds: ['user', 'extension', 'api_token'],
});

/** A route without a credential. */
export const publicRoute: Kind<Principal> = kindOf({ kind: 'public' });

export const platformRoute: Kind<PlatformAdminPrincipal> = kindOf({
  kind: 'principals',
  kinds: ['platform_admin'],
});

/** A route for partners, with `permission` if one is needed. */
export const partnerRoute: Kind<PartnerPrincipal, Pick<Guarded, 'permission'>> = kindOf({
  kind: 'principals',
  kinds: ['partner'],
});
