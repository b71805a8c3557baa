import type { TestTenant, World } from '../../support/world.ts';
import { create, define } from '../entities/support.ts';

export interface Crates {
  readonly tenant: TestTenant;
  /** Name of the entity. */
  readonly entity: string;
  /** Makes a record for each title. */
  readonly records: (...titles: string[]) => Promise<Awaited<ReturnType<typeof create>>[]>;
}

/** A new tenant with an entity for bulk operations. */
export const crates = async (world: World): Promise<Crates> => {
  const tenant = await world.tenant();
  const entity = await define(
    tenant.admin,
    { key: 'title', type: 'text', required: true, max_length: 20 },
    { key: 'n', type: 'integer', max: 100 },
    { key: 'colour', type: 'enum', options: ['red', 'blue'] },
  );
  const records: Crates['records'] = (...titles) =>
    Promise.all(titles.map((title) => create(tenant.admin, entity, { title })));
  return { tenant, entity, records };
};
