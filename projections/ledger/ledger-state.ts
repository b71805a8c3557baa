import { collection } from '../../domain/core/collection.ts';
import type { DocumentReader, ProjectedEvent, RangeQuery, Touch } from '../../domain/core/projection.ts';

/**
 * The last event of a tenant's journal that the reports show: a report of the same range is the same until it changes
 * (decision 65). Part of the projection `ledger`.
 */

export interface LastChange {
  readonly position: string;
}

const ID = 'journal';
const changes = collection<LastChange>('last_changes');

export const lastChangeCollection = {
  name: 'last_changes',
  indexes: [{ name: 'by_position', fields: ['position'] }],
};

export const lastChangeTouch = ({ position }: ProjectedEvent): Touch => changes.put(ID, { position });

/** Position of the journal's last event that was folded; undefined before the first. */
export const lastChangeOf = async (reader: DocumentReader, tenantId: string): Promise<string | undefined> =>
  (await changes.get(reader, tenantId, ID))?.position;

/** {@link lastChangeOf} as a query, to be read together with others. */
export const LAST_CHANGE: RangeQuery = {
  collection: 'last_changes',
  index: 'by_position',
  equals: [],
  order: 'asc',
};
