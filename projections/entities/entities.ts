import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import { type DocumentReader, every, iso, projection } from '../../domain/core/projection.ts';
import type { Field } from '../../domain/entities/fields.ts';
import type { SchemaDefinition, SchemaEvent } from '../../domain/entities/schema.ts';

/** The schemas of a tenant's entities (decisions, section 6). */

export interface EntityDoc {
  readonly name: string;
  readonly label: string;
  readonly fields: readonly Field[];
  readonly workflow: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

const entities = collection<EntityDoc>('entities');

const definitionOf = ({ label, fields, workflow }: SchemaDefinition) => ({ label, fields, workflow });

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
    EntityDefined: ({ data, at }) => [
      entities.put(data.entity_name, {
        name: data.entity_name,
        ...definitionOf(data),
        created_at: iso(at),
        updated_at: iso(at),
      }),
    ],
    EntityChanged: ({ data, at }) => [
      entities.merge(data.entity_name, { ...definitionOf(data), updated_at: iso(at) }),
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
  const names: string[] = [];
  for (;;) {
    const last = names.at(-1);
    const after = last === undefined ? undefined : { values: [], id: last };
    const query = { index: 'by_workflow', equals: [workflow], order: 'asc', limit: PAGE, after } as const;
    const page = await reader.entries('entities', tenantId, query);
    names.push(...page.map(({ id }) => id));
    if (page.length < PAGE) return names;
  }
};
