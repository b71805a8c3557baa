import { collection } from '../../domain/core/collection.ts';
import { type DocumentReader, projection } from '../../domain/core/projection.ts';
import type { SchemaEvent } from '../../domain/entities/schema.ts';
import type { FileEvent } from '../../domain/files/file.ts';

/** A tenant's entities and upload bytes, which its plan limits (domain/tenancy/quotas.ts). One document per tenant. */
interface UsageDoc {
  readonly id: string;
  readonly entities: number;
  /** Bytes of the files that are not deleted. */
  readonly uploads: number;
}

const ID = 'usage';
const NOTHING: UsageDoc = { id: ID, entities: 0, uploads: 0 };

const usages = collection<UsageDoc>('usage');

const add = (more: { readonly entities?: number; readonly uploads?: number }) =>
  usages.touch(ID, (usage = NOTHING) => ({
    ...usage,
    entities: usage.entities + (more.entities ?? 0),
    uploads: usage.uploads + (more.uploads ?? 0),
  }));

export const usageProjection = projection<SchemaEvent | FileEvent>({
  name: 'usage',
  version: 1,
  collections: [{ name: 'usage', indexes: [] }],
  on: {
    EntityDefined: () => [add({ entities: 1 })],
    FileUploaded: ({ data }) => [add({ uploads: data.size })],
    FileDeleted: ({ data }) => [add({ uploads: -data.size })],
  },
});

// Queries

export const usageOf = async (reader: Pick<DocumentReader, 'get'>, tenantId: string): Promise<UsageDoc> =>
  (await usages.get(reader, tenantId, ID)) ?? NOTHING;
