import type { Cause, RecordedEvent } from '../core/events/event-codec.ts';

/** What the product does by itself because of an event: nobody's own act. */
export const systemCause = (event: Pick<RecordedEvent, 'id' | 'correlationId'>): Cause => ({
  actor: { kind: 'system', id: 'webhooks' },
  correlationId: event.correlationId,
  causationId: event.id,
});
