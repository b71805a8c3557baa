import { Jobs } from '../../application/workflow/jobs.ts';
import { type LinkLookup, PublicLinks } from '../../application/workflow/public-links.ts';
import { Workflows } from '../../application/workflow/workflows.ts';
import { entitiesWithWorkflow } from '../../projections/entities/entities.ts';
import { linkOfToken } from '../../projections/workflow/public-links.ts';
import { jobRoutes } from '../routes/workflow/jobs.ts';
import { publicLinkRoutes } from '../routes/workflow/public-links.ts';
import { workflowRoutes } from '../routes/workflow/workflows.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Workflows, jobs, and public links to jobs. */
export const composeWorkflow = (core: Core) => {
  const { events, readModels } = core;
  const workflows = new Workflows({
    ...core,
    entitiesUsing: async (tenantId, workflow) => {
      await readModels.waitFor(tenantId, ['entities'], await events.end());
      return entitiesWithWorkflow(readModels.reader('entities'), tenantId, workflow);
    },
  });
  const jobs = new Jobs({ ...core, workflows });
  const lookUp: LinkLookup = async (tokenHash) => {
    const reader = readModels.reader('links');
    const found = await linkOfToken(reader, tokenHash);
    if (found !== undefined) return found;
    // Another process may have just answered with the token.
    await readModels.waitFor(undefined, ['links'], await events.end());
    return linkOfToken(reader, tokenHash);
  };
  const publicLinks = new PublicLinks({ ...core, jobs, lookUp });
  const deps = { ...core, workflows, jobs, publicLinks };
  return {
    workflows,
    jobs,
    routes: [...workflowRoutes(deps), ...jobRoutes(deps), ...publicLinkRoutes(deps)],
  } satisfies Area & Record<string, unknown>;
};

export type WorkflowArea = ReturnType<typeof composeWorkflow>;
