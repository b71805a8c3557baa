import {
  type DocumentReader,
  iso,
  type Page,
  type PageEnd,
  projection,
  touch,
} from '../../domain/core/projection.ts';
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

export const entitiesProjection = projection<SchemaEvent>({
  name: 'entities',
  version: 1,
  collections: [
    {
      name: 'entities',
      indexes: [
        { name: 'by_created_at', fields: ['created_at'] },
        { name: 'by_workflow', fields: ['workflow'] },
      ],
    },
  ],
  on: {
    EntityDefined: ({ data, at }) => [
      touch<EntityDoc>('entities', data.entity_name, () => ({
        name: data.entity_name,
        label: data.label,
        fields: data.fields,
        workflow: data.workflow,
        created_at: iso(at),
        updated_at: iso(at),
      })),
    ],
    EntityChanged: ({ data, at }) => [
      touch<EntityDoc>('entities', data.entity_name, (entity) =>
        entity === undefined
          ? undefined
          : {
              ...entity,
              label: data.label,
              fields: data.fields,
              workflow: data.workflow,
              updated_at: iso(at),
            },
      ),
    ],
  },
});

// Queries

/** A tenant's entities, oldest first. */
export const entitiesOf = (
  reader: DocumentReader,
  tenantId: string,
  page: { limit: number; after: PageEnd | undefined },
): Promise<Page<EntityDoc>> =>
  reader.find('entities', tenantId, { index: 'by_created_at', equals: [], order: 'asc', ...page });

export const entityByName = (
  reader: DocumentReader,
  tenantId: string,
  name: string,
): Promise<EntityDoc | undefined> => reader.get('entities', tenantId, name);

/** Every entity whose records run a workflow. */
export const entitiesWithWorkflow = async (
  reader: DocumentReader,
  tenantId: string,
  workflow: string,
): Promise<readonly EntityDoc[]> => {
  const found: EntityDoc[] = [];
  let after: PageEnd | undefined;
  do {
    const page = await reader.find<EntityDoc>('entities', tenantId, {
      index: 'by_workflow',
      equals: [workflow],
      order: 'asc',
      limit: 200,
      after,
    });
    found.push(...page.docs);
    after = page.next;
  } while (after !== undefined);
  return found;
};
