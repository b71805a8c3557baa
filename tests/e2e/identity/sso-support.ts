import { Browser, type Page } from '../../support/browser.ts';
import {
  type Account,
  CLIENT,
  type IdentityProvider,
  startProvider,
  stopProviders,
} from '../../support/identity-provider.ts';
import { tenant as shape } from '../../support/shapes.ts';
import { forSuite } from '../../support/suite.ts';
import { endWorld, sharedWorld, type TestTenant, type World } from '../../support/world.ts';

export const APP = 'https://app.example';

export const callbackOf = (world: World): string => `${world.server.base}/auth/sso/callback`;

export const startOf = (world: World, tenant: { id: string }, returnTo?: string): string => {
  const query = returnTo === undefined ? '' : `?return_to=${encodeURIComponent(returnTo)}`;
  return `${world.server.base}/auth/sso/${tenant.id}/start${query}`;
};

export const configure = async (world: World, tenant: { id: string }, sso: unknown) =>
  (await world.platform.patch(`/super/tenants/${tenant.id}`, { sso })).as(shape);

export const settings = (provider: { issuer: string }) => ({
  issuer: provider.issuer,
  ...CLIENT,
  return_origins: [APP],
});

/** A new tenant with single sign-on by `provider`. */
export const tenantAt = async (world: World, provider: { issuer: string }): Promise<TestTenant> => {
  const tenant = await world.tenant();
  await configure(world, tenant, settings(provider));
  return tenant;
};

export const newBrowser = (world: World): Browser => new Browser(world.anybody, () => world.server.base);

/** Signs `account` in at `tenant` with a browser, up to the last page. */
export const signIn = (
  world: World,
  provider: IdentityProvider,
  tenant: { id: string },
  account: Account,
  browser: Browser = newBrowser(world),
): Promise<Page> => {
  provider.next = account;
  return browser.follow(startOf(world, tenant));
};

/** The callback with code and state that the provider redirects to, not visited yet. */
export const sentBack = async (
  world: World,
  provider: IdentityProvider,
  tenant: { id: string },
  account: Account,
  browser: Browser,
  returnTo?: string,
): Promise<string> => {
  provider.next = account;
  const page = await browser.follow(startOf(world, tenant, returnTo), (url) =>
    url.startsWith(callbackOf(world)),
  );
  if (page.location === undefined) throw new Error(`the provider did not send back: ${page.text}`);
  return page.location;
};

/**
 * For a suite: a world, a provider that redirects to it, and a tenant that uses it.
 * @param start `startWorld` for tests that stop their server
 */
export const withProvider = (start: () => Promise<World> = sharedWorld) =>
  forSuite(
    async () => {
      const world = await start();
      const provider = await startProvider({ redirectUri: callbackOf(world) });
      return { world, provider, tenant: await tenantAt(world, provider) };
    },
    async () => {
      await stopProviders();
      await endWorld();
    },
  );
