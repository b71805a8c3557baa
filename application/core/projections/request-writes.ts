import type { StoredEvent } from '../../ports/event-store.ts';

/** Metadata is canonical JSON, so these are its first members. */
const CAUSES = /^\{"\$causationId":"([^"]*)","\$correlationId":"([^"]*)"/;
/** Ids derived from an idempotency key have version 5; those of events that lead to others mostly have version 7. */
const VERSION_AT = 14;

/**
 * Whether a request may have been answered with this event. Effects of background work are recognised by their
 * causation id, that of an event. Effects of a keyed request's events count too; waiting for them does no harm.
 */
export const isOfRequest = ({ metadata }: Pick<StoredEvent, 'metadata'>): boolean => {
  const [, causation = '', correlation = ''] = CAUSES.exec(metadata) ?? [];
  return causation === correlation || (causation.length === 36 && causation[VERSION_AT] === '5');
};
