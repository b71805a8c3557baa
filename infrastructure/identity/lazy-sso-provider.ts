import type { SsoProvider } from '../../application/ports/sso-provider.ts';
import type { SsoProviderOptions } from './sso-provider.ts';

/** {@link openIdProvider}, which loads `openid-client` at the first sign-in. */
export const lazyOpenIdProvider = (options: SsoProviderOptions): SsoProvider => {
  let loading: Promise<SsoProvider> | undefined;
  const load = (): Promise<SsoProvider> => {
    loading ??= import('./sso-provider.ts').then(({ openIdProvider }) => openIdProvider(options));
    return loading;
  };
  return {
    start: async (...parameters) => (await load()).start(...parameters),
    finish: async (...parameters) => (await load()).finish(...parameters),
  };
};
