import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { stateless } from '../core/stream-type.ts';

/** Requests of platform admins to running projections. Each node reads them from the log. */

export const ProjectionRetryRequested = defineEvent(
  'ProjectionRetryRequested',
  z.object({ projection: z.string(), tenant_id: z.string() }),
);

export const operationsEvents = [ProjectionRetryRequested] as const;
type OperationsEvent = EventOf<(typeof operationsEvents)[number]>;

export const operationsStream = stateless<OperationsEvent>('operations');

export const requestRetry = (projection: string, tenantId: string): readonly OperationsEvent[] =>
  decided(ProjectionRetryRequested, { projection, tenant_id: tenantId });
