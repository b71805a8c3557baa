import type { StoredEvent } from '../../ports/event-store.ts';

/** Metadata is canonical JSON, so these two members are its first. */
const CAUSES = /^\{"\$causationId":"([^"]*)","\$correlationId":"([^"]*)"/;
/** Place of the version in a UUID: 5 in ids derived from an idempotency key, mostly 7 in ids of events. */
const VERSION_AT = 14;

/**
 * Whether a request may have been answered with this event: its causation id is the request's id or derived from an
 * idempotency key. Background work of an id that a keyed request made, such as a bulk session's, counts too; waiting
 * for that work does no harm.
 */
export const isOfRequest = ({ metadata }: Pick<StoredEvent, 'metadata'>): boolean => {
  const [, causation = '', correlation = ''] = CAUSES.exec(metadata) ?? [];
  return causation === correlation || (causation.length === 36 && causation[VERSION_AT] === '5');
};
