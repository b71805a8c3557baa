import { Extensions } from '../../application/extensions/extensions.ts';
import { extensionRoutes } from '../routes/extensions/extensions.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';
import type { IdentityArea } from './identity.ts';

/** Extensions and their tokens. */
export const composeExtensions = (core: Core, { tenantTokens }: IdentityArea): Area => {
  const extensions = new Extensions({ ...core, tokens: tenantTokens });
  return { routes: extensionRoutes({ ...core, extensions }) };
};
