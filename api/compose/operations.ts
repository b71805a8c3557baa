import type { ProjectionRunner } from '../../application/core/projections/projection-runner.ts';
import { Operations } from '../../application/operations/operations.ts';
import { projectionRoutes } from '../routes/operations/projections.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Read models for operators: status, retry and rebuild. */
export const composeOperations = (core: Core, runners: readonly ProjectionRunner[]) => {
  const operations = new Operations(core.streams, runners);
  return { operations, routes: projectionRoutes({ operations }) } satisfies Area & Record<string, unknown>;
};
