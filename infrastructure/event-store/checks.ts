import {
  EventTooLarge,
  type ExpectedRevision,
  MAX_EVENT_BYTES,
  type NewEvent,
} from '../../application/ports/event-store.ts';
import { isUuid } from '../../domain/core/text.ts';

/** A UTF-16 unit becomes at most three bytes of UTF-8, so shorter texts need not be measured. */
const SURELY_SMALL = Math.floor(MAX_EVENT_BYTES / 3);

/**
 * Refuses events that some adapter could not store, before anything is queued, so that all adapters refuse the same.
 * EventStoreDB's client ends the process on an id that is not a UUID, and UTF-8 has no lone surrogates.
 * @throws {TypeError} for programming errors
 * @throws {EventTooLarge}
 */
export function checkAppend(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): void {
  checkName('stream name', stream);
  if (typeof expected === 'number' && !(Number.isSafeInteger(expected) && expected >= 0)) {
    throw new TypeError(`expected revision ${expected} is none`);
  }
  if (events.length === 0) throw new TypeError(`append of no events to ${stream}`);
  for (const event of events) checkEvent(stream, event);
}

function checkEvent(stream: string, event: NewEvent): void {
  const { id, type, data, metadata } = event;
  if (!isUuid(id)) throw new TypeError(`event id is no lower-case UUID: ${id}`);
  checkName('event type', type);
  if (!data.isWellFormed() || !metadata.isWellFormed()) {
    throw new TypeError(`event ${id} holds half a surrogate pair`);
  }
  if (data.length + metadata.length <= SURELY_SMALL) return;
  const bytes = Buffer.byteLength(data) + Buffer.byteLength(metadata);
  if (bytes > MAX_EVENT_BYTES) {
    throw new EventTooLarge(`event ${id} of ${stream} has ${bytes} bytes, more than ${MAX_EVENT_BYTES}`);
  }
}

/** `$` begins the names of EventStoreDB's own streams and event types. */
function checkName(what: string, name: string): void {
  if (name === '' || name.startsWith('$') || !name.isWellFormed()) {
    throw new TypeError(`invalid ${what}: ${JSON.stringify(name)}`);
  }
}
