import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { defineEvent, type EventOf } from '../event.ts';

/** What operators ask of running projections. Facts in the log, so that whichever node folds one hears of it. */

export const ProjectionRetryRequested = defineEvent(
  'ProjectionRetryRequested',
  z.object({ projection: z.string(), tenant_id: z.string() }),
);

export const operationsEvents = [ProjectionRetryRequested] as const;
export type OperationsEvent = EventOf<(typeof operationsEvents)[number]>;

export const operationsDecider: Decider<null, OperationsEvent> = {
  category: 'operations',
  stateVersion: 1,
  initial: null,
  evolve: (state) => state,
};

export const requestRetry = (projection: string, tenantId: string): readonly OperationsEvent[] => [
  { type: 'ProjectionRetryRequested', data: { projection, tenant_id: tenantId } },
];
