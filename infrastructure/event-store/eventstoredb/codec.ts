import type { EventData, Position as LogPosition, RecordedEvent } from '@eventstore/db-client';
import type { NewEvent, Position, StoredEvent } from '../../../application/ports/event-store.ts';
import { parsedJson } from '../../parsed-json.ts';
import { formatPosition, isPosition } from '../positions.ts';

const encoder = new TextEncoder();
/** `ignoreBOM` keeps a byte order mark in the text, despite its name. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Greater than every commit position: the server stores commit positions as signed numbers, and sends an unknown
 * position as the greatest unsigned number.
 */
const POSITION_END = 1n << 63n;
/** First byte of metadata that must not be parsed as JSON; no JSON text begins with this byte. */
export const VERBATIM = 0;

/**
 * An event for the client, in binary, so that its bytes are read back unchanged. Builds the object of the package's
 * `binaryEvent` without copying the data.
 */
export function encodeEvent({ id, type, data, metadata }: NewEvent): EventData {
  return {
    id,
    contentType: 'application/octet-stream',
    type,
    data: encoder.encode(data),
    metadata: encodeMetadata(metadata),
  };
}

/**
 * The client parses metadata as JSON when it can, which loses their formatting. A text that survives parsing unchanged,
 * such as canonical JSON, is stored plainly, so that the server's tools see `$correlationId` and `$causationId`. Any
 * other text is marked, so that the client keeps the bytes.
 */
function encodeMetadata(text: string): Uint8Array {
  if (JSON.stringify(parsedJson(text)) === text) return encoder.encode(text);
  const bytes = encoder.encode(text);
  const marked = new Uint8Array(bytes.length + 1);
  marked[0] = VERBATIM;
  marked.set(bytes, 1);
  return marked;
}

/** @throws when the server sends no positions in stream reads (before 22.6) */
export function decodeEvent(recorded: RecordedEvent): StoredEvent {
  const { id, type, streamId, revision } = recorded;
  const commit = recorded.position?.commit;
  if (commit === undefined || commit >= POSITION_END) {
    throw new Error(
      `EventStoreDB returned no position for ${streamId}@${revision}; it must be version 22.6 or later`,
    );
  }
  return {
    id,
    type,
    data: decodeData(recorded.data),
    metadata: decodeMetadata(recorded.metadata),
    stream: streamId,
    revision: Number(revision),
    position: formatPosition(commit),
  };
}

/** Data that the client has parsed as JSON was written by another program. */
function decodeData(data: unknown): string {
  return data instanceof Uint8Array ? decoder.decode(data) : JSON.stringify(data);
}

function decodeMetadata(metadata: unknown): string {
  if (metadata === undefined) return '{}';
  if (!(metadata instanceof Uint8Array)) return JSON.stringify(metadata);
  return decoder.decode(metadata[0] === VERBATIM ? metadata.subarray(1) : metadata);
}

/** The prepare position equals the commit position except in explicit transactions, which no gRPC client can write. */
export function logPosition(position: Position): LogPosition {
  const commit = BigInt(`0x${position}`);
  return { commit, prepare: commit };
}

export function parsePosition(text: string): Position | undefined {
  return isPosition(text) && BigInt(`0x${text}`) < POSITION_END ? text : undefined;
}

/**
 * Whether an event belongs to the server: its stream or type begins with `$` (`$$…` are stream metadata). Such events
 * are skipped.
 */
export function isSystem(recorded: { readonly streamId: string; readonly type: string }): boolean {
  return recorded.streamId.startsWith('$') || recorded.type.startsWith('$');
}
