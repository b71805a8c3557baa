import type { EventData, Position as LogPosition, RecordedEvent } from '@eventstore/db-client';
import type { NewEvent, Position, StoredEvent } from '../../../application/ports/event-store.ts';
import { formatPosition, isPosition } from '../positions.ts';

const encoder = new TextEncoder();
/** `ignoreBOM` keeps a byte order mark in the text, despite its name. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Commit positions are signed in the server; what it does not know it sends as the greatest unsigned number. */
const POSITION_END = 1n << 63n;
/** Begins metadata that must not be read as JSON. No JSON text begins with it. */
export const VERBATIM = 0;

/**
 * An event for the client, as binary so that its bytes come back as they went. The object is what the package's
 * `binaryEvent` makes, without its copy of the data byte by byte.
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
 * The client reads metadata as JSON whenever it can, and so loses how it was written. Texts that come through
 * this unchanged (canonical ones do) are stored plainly, so that the server's tools see `$correlationId` and
 * `$causationId`; any other is marked, so that the client leaves its bytes alone.
 */
function encodeMetadata(text: string): Uint8Array {
  if (survivesParsing(text)) return encoder.encode(text);
  const bytes = encoder.encode(text);
  const marked = new Uint8Array(bytes.length + 1);
  marked[0] = VERBATIM;
  marked.set(bytes, 1);
  return marked;
}

function survivesParsing(text: string): boolean {
  try {
    return JSON.stringify(JSON.parse(text)) === text;
  } catch {
    return false;
  }
}

/** @throws when the server does not tell positions in stream reads (before 22.6) */
export function decodeEvent(recorded: RecordedEvent): StoredEvent {
  const { id, type, streamId, revision } = recorded;
  const commit = recorded.position?.commit;
  if (commit === undefined || commit >= POSITION_END) {
    throw new Error(`EventStoreDB tells no position for ${streamId}@${revision}; 22.6 or later is needed`);
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

/** Data that is no bytes was written by another program as JSON. */
function decodeData(data: unknown): string {
  return data instanceof Uint8Array ? decoder.decode(data) : JSON.stringify(data);
}

function decodeMetadata(metadata: unknown): string {
  if (metadata === undefined) return '{}';
  if (!(metadata instanceof Uint8Array)) return JSON.stringify(metadata);
  return decoder.decode(metadata[0] === VERBATIM ? metadata.subarray(1) : metadata);
}

/** Prepare equals commit for everything but explicit transactions, which no gRPC client can write. */
export function logPosition(position: Position): LogPosition {
  const commit = BigInt(`0x${position}`);
  return { commit, prepare: commit };
}

export function parsePosition(text: string): Position | undefined {
  return isPosition(text) && BigInt(`0x${text}`) < POSITION_END ? text : undefined;
}

/** `$` begins the server's own streams (`$$…` are stream metadata) and event types: they are never shown. */
export function isSystem(recorded: { readonly streamId: string; readonly type: string }): boolean {
  return recorded.streamId.startsWith('$') || recorded.type.startsWith('$');
}
