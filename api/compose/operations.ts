import type { ProjectionRunner } from '../../application/core/projections/projection-runner.ts';
import { GaugeSampler } from '../../application/operations/gauge-sampler.ts';
import { Operations } from '../../application/operations/operations.ts';
import { queuedRows } from '../../projections/bulk/bulk.ts';
import { openOf } from '../../projections/operations/open-work.ts';
import { projectionRoutes } from '../routes/operations/projections.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Composes the routes by which platform admins see, retry and rebuild read models, and the gauge sampler. */
export const composeOperations = (core: Core, runners: readonly ProjectionRunner[]): Area => {
  const { adapters, config, readModels } = core;
  const operations = new Operations({ ...core, runners });
  const openWork = readModels.reader('open_work');
  const bulk = readModels.reader('bulk');
  const sampler = new GaugeSampler({
    ...core,
    values: {
      deadLetters: () => openOf(openWork, 'dead_letters'),
      pausedSubscriptions: () => openOf(openWork, 'paused_subscriptions'),
      openPostingFailures: () => openOf(openWork, 'posting_failures'),
      queuedRows: () => queuedRows(bulk),
      storeBytes: () => adapters.storeSizes(config),
    },
  });
  return {
    routes: projectionRoutes({ operations }),
    background: (lease, signal) => sampler.run(lease, signal),
  };
};
