import { byCreatedAt, collection } from '../../domain/core/collection.ts';
import { iso, projection } from '../../domain/core/projection.ts';
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

const workflows = collection<WorkflowDoc>('workflows');

export const workflowsProjection = projection<WorkflowEvent>({
  name: 'workflows',
  version: 1,
  collections: [{ name: 'workflows', indexes: [byCreatedAt] }],
  on: {
    WorkflowCreated: ({ data, at }) => [
      workflows.put(data.name, {
        name: data.name,
        draft: data.definition,
        published: null,
        version: 0,
        published_at: null,
        created_at: iso(at),
        updated_at: iso(at),
      }),
    ],
    WorkflowDraftSaved: ({ data, at }) => [
      workflows.merge(data.name, { draft: data.definition, updated_at: iso(at) }),
    ],
    WorkflowPublished: ({ data, at }) => [
      workflows.merge(data.name, {
        draft: data.definition,
        published: data.definition,
        version: data.version,
        published_at: iso(at),
        updated_at: iso(at),
      }),
    ],
  },
});

// Queries

export const workflowByName = workflows.get;

/** The workflows of a tenant, oldest first. */
export const workflowsOf = workflows.list('by_created_at', 'asc');
