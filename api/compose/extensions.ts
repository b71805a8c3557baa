import { Extensions } from '../../application/extensions/extensions.ts';
import type { TenantTokenClaims } from '../../application/identity/authentication-claims.ts';
import type { TokenFamily } from '../../application/ports/tokens.ts';
import { extensionRoutes } from '../routes/extensions/extensions.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Extensions and their tokens. */
export const composeExtensions = (
  core: Core,
  { tenantTokens }: { readonly tenantTokens: TokenFamily<TenantTokenClaims> },
) => {
  const extensions = new Extensions({ ...core, tokens: tenantTokens });
  return { extensions, routes: extensionRoutes({ ...core, extensions }) } satisfies Area &
    Record<string, unknown>;
};
