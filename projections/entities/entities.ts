import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import { type DocumentReader, every, iso, projection } from '../../domain/core/projection.ts';
import type { SchemaDefinition, SchemaEvent } from '../../domain/entities/schema.ts';

/** The schemas of a tenant's entities (decisions, section 6). */

export interface EntityDoc extends SchemaDefinition {
  readonly name: string;
  readonly created_at: string;
  readonly updated_at: string;
}

const entities = collection<EntityDoc>('entities');

export const entitiesProjection = projection<SchemaEvent>({
  name: 'entities',
  version: 1,
  collections: [
    {
      name: 'entities',
      indexes: [byCreatedAt, { name: 'by_workflow', fields: ['workflow'] }],
    },
  ],
  on: {
    EntityDefined: ({ data: { entity_name: name, ...definition }, at }) => [
      entities.put(name, { name, ...definition, created_at: iso(at), updated_at: iso(at) }),
    ],
    EntityChanged: ({ data: { entity_name, label, fields, workflow }, at }) => [
      entities.merge(entity_name, { label, fields, workflow, updated_at: iso(at) }),
    ],
  },
});

// Queries

/** Number of documents or index entries read at once. */
const PAGE = 1000;

/** A tenant's entities, oldest first. */
export const entitiesOf = entities.list('by_created_at', 'asc');

export const entityByName = entities.get;

/** Whether any entity of a tenant has references to records of this entity. */
export const hasReferencesTo = async (
  reader: DocumentReader,
  tenantId: string,
  entityName: string,
): Promise<boolean> => {
  for await (const { fields } of every((page) => entitiesOf(reader, tenantId, page), PAGE)) {
    if (fields.some(({ reference }) => reference?.entity_name === entityName)) return true;
  }
  return false;
};

/** Names of all entities that run a workflow. Reads the index only, no documents. */
export const entitiesWithWorkflow = async (
  reader: Pick<DocumentReader, 'entries'>,
  tenantId: string,
  workflow: string,
): Promise<readonly string[]> => {
  const entries = every(async (page) => {
    const query = { index: 'by_workflow', equals: [workflow], order: 'asc', ...page } as const;
    const docs = await reader.entries('entities', tenantId, query);
    return { docs, next: docs.length < page.limit ? undefined : docs.at(-1) };
  }, PAGE);
  return Array.fromAsync(entries, ({ id }) => id);
};
