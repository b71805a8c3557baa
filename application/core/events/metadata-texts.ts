import type { StoredEvent } from '../../ports/event-store.ts';

/** The `traceparent` of a stored event, even if the event cannot be decoded. */
export const traceparentOf = (event: Pick<StoredEvent, 'metadata'>): string | undefined =>
  /"traceparent":"([^"]+)"/.exec(event.metadata)?.[1];

/** `occurred_at` (ms) of a stored event, even if the event cannot be decoded. */
export const occurredAt = (event: Pick<StoredEvent, 'metadata'>): number | undefined => {
  const found = /"occurred_at":"([^"]+)"/.exec(event.metadata)?.[1];
  return found === undefined ? undefined : Date.parse(found);
};
