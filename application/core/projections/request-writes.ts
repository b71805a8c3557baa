import type { StoredEvent } from '../../ports/event-store.ts';

/** Metadata is canonical JSON, so its first two members are always these. */
const CAUSES = /^\{"\$causationId":"([^"]*)","\$correlationId":"([^"]*)"/;
/** Place of the version digit in a UUID. It is 5 in ids derived from an idempotency key, and usually 7 in event ids. */
const VERSION_AT = 14;

/**
 * Whether a request may have been answered with this event: its causation id is the request's id or derived from an
 * idempotency key. Also true for some background work, whose causation id equals its correlation id or was made by a
 * keyed request; waiting for that work does no harm.
 */
export const isOfRequest = ({ metadata }: Pick<StoredEvent, 'metadata'>): boolean => {
  const [, causation = '', correlation = ''] = CAUSES.exec(metadata) ?? [];
  return causation === correlation || (causation.length === 36 && causation[VERSION_AT] === '5');
};
