import { Jobs } from '../../application/jobs.ts';
import { type LinkLookup, PublicLinks } from '../../application/public-links.ts';
import { Workflows } from '../../application/workflows.ts';
import { entitiesWithWorkflow } from '../../projections/entities.ts';
import { linkOfToken } from '../../projections/links.ts';
import type { Core } from './core.ts';

/** Workflows, the jobs that run them, and links to jobs. */
export interface WorkflowArea {
  readonly workflows: Workflows;
  readonly jobs: Jobs;
  readonly publicLinks: PublicLinks;
}

export const composeWorkflow = (core: Core): WorkflowArea => {
  const { commands, states, stores, codec, clock, directory, readModels } = core;
  const workflows = new Workflows({
    commands,
    states,
    events: stores.events,
    codec,
    entitiesUsing: async (tenantId, workflow) => {
      await readModels.waitFor(tenantId, ['entities'], await stores.events.head());
      const entities = await entitiesWithWorkflow(readModels.reader('entities'), tenantId, workflow);
      return entities.map(({ name }) => name);
    },
  });
  const jobs = new Jobs({ commands, states, workflows, clock });
  const lookUp: LinkLookup = async (tokenHash) => {
    const reader = readModels.reader('links');
    let found = await linkOfToken(reader, tokenHash);
    if (found === undefined) {
      // Another node may have answered with the token a moment ago.
      await readModels.waitFor(undefined, ['links'], await stores.events.head());
      found = await linkOfToken(reader, tokenHash);
    }
    return found === undefined
      ? undefined
      : {
          tenantId: found.tenant_id,
          linkId: found.link_id,
          jobId: found.job_id,
          entityId: found.entity_id,
          pageSlug: found.page_slug,
          expiresAt: found.expires_at,
        };
  };
  return {
    workflows,
    jobs,
    publicLinks: new PublicLinks({ commands, states, directory, jobs, clock, lookUp }),
  };
};
