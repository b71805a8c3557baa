import {
  type DocumentReader,
  iso,
  type Page,
  type PageEnd,
  projection,
  touch,
  touchExisting,
} from '../../domain/core/projection.ts';
import type { Definition } from '../../domain/workflow/definition.ts';
import type { WorkflowEvent } from '../../domain/workflow/workflow.ts';

/** The workflows of a tenant (decisions, section 6, Workflow). */

export interface WorkflowDoc {
  readonly name: string;
  /** The newest definition, published or not. */
  readonly draft: Definition;
  readonly published: Definition | null;
  /** The newest published version; 0 before the first. */
  readonly version: number;
  readonly published_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
}

const changed = (name: string, change: (document: WorkflowDoc) => WorkflowDoc) => [
  touchExisting<WorkflowDoc>('workflows', name, change),
];

export const workflowsProjection = projection<WorkflowEvent>({
  name: 'workflows',
  version: 1,
  collections: [{ name: 'workflows', indexes: [{ name: 'by_created_at', fields: ['created_at'] }] }],
  on: {
    WorkflowCreated: ({ data, at }) => [
      touch<WorkflowDoc>('workflows', data.name, () => ({
        name: data.name,
        draft: data.definition,
        published: null,
        version: 0,
        published_at: null,
        created_at: iso(at),
        updated_at: iso(at),
      })),
    ],
    WorkflowDraftSaved: ({ data, at }) =>
      changed(data.name, (workflow) => ({ ...workflow, draft: data.definition, updated_at: iso(at) })),
    WorkflowPublished: ({ data, at }) =>
      changed(data.name, (workflow) => ({
        ...workflow,
        draft: data.definition,
        published: data.definition,
        version: data.version,
        published_at: iso(at),
        updated_at: iso(at),
      })),
  },
});

// Queries

export const workflowByName = (
  reader: DocumentReader,
  tenantId: string,
  name: string,
): Promise<WorkflowDoc | undefined> => reader.get('workflows', tenantId, name);

/** The workflows of a tenant, oldest first. */
export const workflowsOf = (
  reader: DocumentReader,
  tenantId: string,
  page: { limit: number; after: PageEnd | undefined },
): Promise<Page<WorkflowDoc>> =>
  reader.find('workflows', tenantId, { index: 'by_created_at', equals: [], order: 'asc', ...page });
