import type { z } from 'zod';
import type { PlatformAdminPrincipal, UserPrincipal } from '../../application/principal.ts';
import { type Definition, type Route, route } from '../http/route.ts';

type Schema = z.ZodType | undefined;
type Without<T> = Omit<T, 'access'>;

/** A route for a person of a tenant; the handler sees a user. */
export const personRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<UserPrincipal, P, Q, B>>,
): Route => route<UserPrincipal, P, Q, B>({ ...definition, access: { kind: 'principals', kinds: ['user'] } });

/** As {@link personRoute}, for admins of the tenant. */
export const adminRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<UserPrincipal, P, Q, B>>,
): Route =>
  route<UserPrincipal, P, Q, B>({
    ...definition,
    access: { kind: 'principals', kinds: ['user'], roles: ['admin'] },
  });

/** A route for platform admins. */
export const platformRoute = <
  P extends Schema = undefined,
  Q extends Schema = undefined,
  B extends Schema = undefined,
>(
  definition: Without<Definition<PlatformAdminPrincipal, P, Q, B>>,
): Route =>
  route<PlatformAdminPrincipal, P, Q, B>({
    ...definition,
    access: { kind: 'principals', kinds: ['platform_admin'] },
  });
