import type { EventData } from '@eventstore/db-client';
import { z } from 'zod';
import type { StoredEvent } from '../../../application/ports/event-store.ts';
import { encodeEvent, VERBATIM } from './codec.ts';

/** Names in the stored metadata of an imported event, beside the event's own. */
const POSITION = '$position';
/** The event's own metadata as text, where parsing and writing them again would change them. */
const TEXT = '$metadata';

const own = z.record(z.string(), z.unknown());
const withPosition = z.looseObject({ [POSITION]: z.string().regex(/^[0-9a-f]{16}$/) });
const verbatim = z.strictObject({ [POSITION]: z.string(), [TEXT]: z.string() });

/**
 * An imported event for the client. EventStoreDB gives each event a position of its own, so the one that the event has
 * goes into its metadata.
 */
export const encodeImported = (event: StoredEvent): EventData => ({
  ...encodeEvent(event),
  // The client takes a Buffer for an object and writes it as JSON.
  metadata: new TextEncoder().encode(withPositionOf(event)),
});

const withPositionOf = ({ metadata, position }: StoredEvent): string => {
  const parsed = ownIn(metadata);
  return JSON.stringify(
    parsed === undefined ? { [POSITION]: position, [TEXT]: metadata } : { ...parsed, [POSITION]: position },
  );
};

/** Metadata that survive parsing and have no name of ours. */
const ownIn = (text: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(text);
    const parsed = own.safeParse(value);
    const isSame = parsed.success && !Array.isArray(value) && JSON.stringify(parsed.data) === text;
    return isSame && !(POSITION in parsed.data) ? parsed.data : undefined;
  } catch {
    return undefined;
  }
};

/**
 * The position that an imported event has, and its own metadata in the form of `encodeEvent`. Undefined for an event
 * that no import wrote.
 * @param metadata as the client gives them: parsed, or the bytes
 */
export const importedIn = (
  metadata: unknown,
): { readonly position: bigint; readonly metadata: unknown } | undefined => {
  const value = metadata instanceof Uint8Array ? valueIn(metadata) : metadata;
  const parsed = withPosition.safeParse(value);
  if (!parsed.success) return undefined;
  const { [POSITION]: position, ...rest } = parsed.data;
  const kept = verbatim.safeParse(value);
  return {
    position: BigInt(`0x${position}`),
    metadata: kept.success ? Buffer.concat([Buffer.of(VERBATIM), Buffer.from(kept.data[TEXT])]) : rest,
  };
};

const valueIn = (bytes: Uint8Array): unknown => {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
};
