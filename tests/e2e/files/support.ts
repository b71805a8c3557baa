import { newRecord } from '../../support/records.ts';
import { sharedWorld, type World } from '../../support/world.ts';

/** A tenant with the operator Ann, and a record for files. @param start `startWorld` for tests that end their server */
export const annAndRecord = async (start: () => Promise<World> = sharedWorld) => {
  const world = await start();
  const tenant = await world.tenant();
  return { world, tenant, ann: await tenant.person('Ann'), record: await newRecord(tenant) };
};
