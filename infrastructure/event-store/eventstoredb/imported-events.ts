import type { EventData } from '@eventstore/db-client';
import { z } from 'zod';
import type { StoredEvent } from '../../../application/ports/event-store.ts';
import { parsedJson } from '../../parsed-json.ts';
import { encodeEvent, VERBATIM } from './codec.ts';

/** Members that an import adds to the stored metadata. */
const POSITION = '$position';
/** The event's own metadata as text, when parsing and serializing would change them. */
const TEXT = '$metadata';

const own = z.record(z.string(), z.unknown());
const withPosition = z.looseObject({ [POSITION]: z.string().regex(/^[0-9a-f]{16}$/) });
const verbatim = z.strictObject({ [POSITION]: z.string(), [TEXT]: z.string() });

/** An imported event for the client. EventStoreDB assigns new positions, so the metadata hold the original one. */
export const encodeImported = (event: StoredEvent): EventData => ({
  ...encodeEvent(event),
  // The client would serialize a Buffer as JSON.
  metadata: new TextEncoder().encode(withPositionOf(event)),
});

const withPositionOf = ({ metadata, position }: StoredEvent): string => {
  const parsed = ownIn(metadata);
  return JSON.stringify(
    parsed === undefined ? { [POSITION]: position, [TEXT]: metadata } : { ...parsed, [POSITION]: position },
  );
};

/** The parsed metadata, if serializing them gives the same text and they have neither of the added members. */
const ownIn = (text: string): Record<string, unknown> | undefined => {
  const value = parsedJson(text);
  const parsed = own.safeParse(value);
  const isSame = parsed.success && !Array.isArray(value) && JSON.stringify(parsed.data) === text;
  return isSame && !(POSITION in parsed.data) && !(TEXT in parsed.data) ? parsed.data : undefined;
};

/**
 * The original position and metadata of an imported event, with metadata in the form of `encodeEvent`. Undefined for
 * an event that was not imported.
 * @param metadata from the client: parsed, or bytes
 */
export const importedIn = (
  metadata: unknown,
): { readonly position: bigint; readonly metadata: unknown } | undefined => {
  const value =
    metadata instanceof Uint8Array ? parsedJson(Buffer.from(metadata).toString('utf8')) : metadata;
  const parsed = withPosition.safeParse(value);
  if (!parsed.success) return undefined;
  const { [POSITION]: position, ...rest } = parsed.data;
  const kept = verbatim.safeParse(value);
  return {
    position: BigInt(`0x${position}`),
    metadata: kept.success ? Buffer.concat([Buffer.of(VERBATIM), Buffer.from(kept.data[TEXT])]) : rest,
  };
};
