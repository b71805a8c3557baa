import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import { type DocumentReader, every, iso, projection } from '../../domain/core/projection.ts';
import type { Field } from '../../domain/entities/fields.ts';
import type { SchemaEvent } from '../../domain/entities/schema.ts';

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
        label: data.label,
        fields: data.fields,
        workflow: data.workflow,
        created_at: iso(at),
        updated_at: iso(at),
      }),
    ],
    EntityChanged: ({ data, at }) => [
      entities.merge(data.entity_name, {
        label: data.label,
        fields: data.fields,
        workflow: data.workflow,
        updated_at: iso(at),
      }),
    ],
  },
});

// Queries

/** A tenant's entities, oldest first. */
export const entitiesOf = entities.list('by_created_at', 'asc');

export const entityByName = entities.get;

const ofWorkflow = entities.listOf('by_workflow', 'asc');

/** Every entity whose records run a workflow. */
export const entitiesWithWorkflow = async (
  reader: DocumentReader,
  tenantId: string,
  workflow: string,
): Promise<readonly EntityDoc[]> => {
  const found: EntityDoc[] = [];
  for await (const doc of every((page) => ofWorkflow(reader, tenantId, workflow, page))) found.push(doc);
  return found;
};
