import { newRecord } from '../../support/records.ts';
import { startWorld } from '../../support/world.ts';

/** A tenant with the operator Ann, and a record for files. */
export const annAndRecord = async () => {
  const world = await startWorld();
  const tenant = await world.tenant();
  return { world, tenant, ann: await tenant.person('Ann'), record: await newRecord(tenant) };
};
