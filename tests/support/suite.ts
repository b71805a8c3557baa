import { endWorld, type Pair, sharedPair, sharedWorld, type TestTenant, talk, type World } from './world.ts';

/** State that the tests of a suite share, created before the first test and ended after the last one. */

/**
 * Runs `start` before the suite's first test and `end` after its last, even if the start failed.
 * @param end default: ends every server of the file, except shared ones
 * @returns a function for tests and hooks that gives the result of `start`
 */
export const forSuite = <T>(start: () => Promise<T>, end: () => Promise<void> = endWorld): (() => T) => {
  let made: { readonly value: T } | undefined;
  before(async () => {
    made = { value: await start() };
  });
  after(end);
  return () => {
    if (made === undefined) throw new Error('there is nothing before the first test of the suite');
    return made.value;
  };
};

type Start = () => Promise<World>;

/** A new tenant. @param start `startWorld` for tests that end their server */
const home = async (start: Start): Promise<{ readonly world: World; readonly tenant: TestTenant }> => {
  const world = await start();
  return { world, tenant: await world.tenant() };
};

/** The admin of a tenant, and Ada, an operator. */
export const bossAndAda = async (start: Start = sharedWorld) => {
  const { world, tenant } = await home(start);
  return { world, tenant, boss: tenant.admin, ada: await tenant.person('Ada') };
};

/** Two operators of a tenant and the `id` of their conversation. */
export const adaAndBen = async (start: Start = sharedWorld) => {
  const { world, tenant } = await home(start);
  const ada = await tenant.person('Ada');
  const ben = await tenant.person('Ben');
  return { world, tenant, ada, ben, id: await talk(ada, ben) };
};

/** Two servers on the same data, and Ada, an admin of a tenant. @param start `startPair` for tests that end a server */
export const adaAndTwoServers = async (start: () => Promise<Pair> = sharedPair) => {
  const { world, other } = await start();
  const tenant = await world.tenant();
  return { world, other, tenant, ada: await tenant.person('Ada', 'admin') };
};
