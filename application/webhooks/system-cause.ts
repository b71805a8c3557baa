import type { Cause, RecordedEvent } from '../core/events/event-codec.ts';

/** The cause of actions that the product takes by itself because of an event. */
export const systemCause = (event: Pick<RecordedEvent, 'id' | 'correlationId' | 'traceparent'>): Cause => ({
  actor: { kind: 'system', id: 'webhooks' },
  correlationId: event.correlationId,
  causationId: event.id,
  traceparent: event.traceparent,
});
