import type { Admin } from 'mongodb';
import { z } from 'zod';
import type { Rows } from '../../mongodb/calls.ts';

/** The first major version of MongoDB with wildcard indexes that begin with another field. */
const FIRST = 7;

const buildInfo = z.object({ versionArray: z.array(z.number()) });

/** Creates the index over the searched fields of a collection; safe to repeat. */
export type IndexFields = (rows: Pick<Rows, 'createIndex' | 'collectionName'>) => Promise<void>;

/**
 * The index over all fields that filters name (decision 41): under `s` is everything that a filter compares, except the
 * id, and each search names its tenant.
 */
export const indexFields: IndexFields = async (rows) => {
  await rows.createIndex({ tenant: 1, 's.$**': 1 }, { name: 'fields' });
};

/** Undefined for a server that cannot have such an index. */
export async function fieldIndexOf(db: {
  admin(): Pick<Admin, 'command'>;
}): Promise<IndexFields | undefined> {
  const { versionArray } = buildInfo.parse(await db.admin().command({ buildInfo: 1 }));
  return (versionArray[0] ?? 0) >= FIRST ? indexFields : undefined;
}
