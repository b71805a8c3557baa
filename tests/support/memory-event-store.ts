import { matches, select } from '../../application/ports/event-filter.ts';
import {
  type AppendResult,
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
  type ReadAllOptions,
  type ReadStreamOptions,
  type StoredEvent,
  StoreUnavailable,
  WrongExpectedRevision,
} from '../../application/ports/event-store.ts';
import { checkAppend } from '../../infrastructure/event-store/checks.ts';
import { Growth } from '../../infrastructure/event-store/growth.ts';
import {
  formatPosition,
  isPosition,
  offsetOf,
  parseOffset,
} from '../../infrastructure/event-store/positions.ts';
import { MAX_SCAN_UNITS } from '../../infrastructure/event-store/scan-bounds.ts';

const DEFAULT_LIMIT = 1000;

/** An event store in memory, for unit tests and the simulation: fulfils the contract of the port. */
export function openMemoryEventStore(): EventStore {
  /** The event at offset n is `log[n - 1]`. */
  const log: StoredEvent[] = [];
  const streams = new Map<string, StoredEvent[]>();
  const growth = new Growth();
  let closed = false;

  return {
    async append(stream, expected, events) {
      ensureOpen(closed);
      checkAppend(stream, expected, events);
      const known = streams.get(stream) ?? [];
      if (!isExpected(known, expected)) return repeated(stream, known, expected, events);
      const after = formatPosition(log.length);
      for (const { id, type, data, metadata } of events) {
        const position = formatPosition(log.length + 1);
        const stored = { id, type, data, metadata, stream, revision: known.length, position };
        known.push(stored);
        log.push(stored);
      }
      streams.set(stream, known);
      growth.notify({ after, events: known.slice(-events.length) });
      return lastOf(known);
    },

    async readStream(stream, options = {}) {
      ensureOpen(closed);
      return pick(streams.get(stream) ?? [], options);
    },

    async readStreams(names, limit, enough = Number.POSITIVE_INFINITY) {
      ensureOpen(closed);
      const found: StoredEvent[][] = [];
      let units = 0;
      for (const stream of names) {
        if (found.length > 0 && units >= enough) break;
        const events = pick(streams.get(stream) ?? [], { limit });
        for (const { data, metadata } of events) units += data.length + metadata.length;
        found.push(events);
      }
      return found;
    },

    async readAll(options: ReadAllOptions = {}) {
      ensureOpen(closed);
      const selection = select(options.filter);
      const bound = options.from && offsetOf(options.from);
      const forward = options.direction !== 'backward';
      const part = forward ? log.slice(bound ?? 0) : log.slice(0, bound && bound - 1).reverse();
      return part.filter((event) => matches(selection, event)).slice(0, options.limit ?? DEFAULT_LIMIT);
    },

    async scanAll(options, maxScanned) {
      ensureOpen(closed);
      const { limit = DEFAULT_LIMIT } = options;
      const selection = select(options.filter);
      const step = options.direction === 'backward' ? -1 : 1;
      const events: StoredEvent[] = [];
      let units = 0;
      let at = options.from === undefined ? (step > 0 ? 0 : log.length + 1) : offsetOf(options.from);
      for (let scanned = 0; ; scanned += 1) {
        const event = log[at + step - 1];
        if (event === undefined) {
          return { events, scanned, next: undefined, position: formatPosition(Math.min(at, log.length)) };
        }
        if (events.length >= limit || scanned >= Math.max(1, maxScanned) || units >= MAX_SCAN_UNITS) {
          const position = formatPosition(at);
          return { events, scanned, next: position, position };
        }
        at += step;
        if (!matches(selection, event)) continue;
        events.push(event);
        units += event.data.length + event.metadata.length;
      }
    },

    onGrowth: (listener) => growth.subscribe(listener),
    end: async () => log.at(-1)?.position,
    parsePosition: (text) => (isPosition(text) && parseOffset(text) !== undefined ? text : undefined),
    async close() {
      closed = true;
    },
  };
}

function ensureOpen(closed: boolean): void {
  if (closed) throw new StoreUnavailable('the event store is closed');
}

function isExpected(known: readonly StoredEvent[], expected: ExpectedRevision): boolean {
  if (expected === 'any') return true;
  return known.length === (expected === 'no_stream' ? 0 : expected + 1);
}

/** Acknowledges a retry of a written append with the first result. */
function repeated(
  stream: string,
  known: readonly StoredEvent[],
  expected: ExpectedRevision,
  events: readonly NewEvent[],
): AppendResult {
  const first = typeof expected === 'number' ? expected + 1 : 0;
  const before = known.slice(first, first + events.length);
  if (before.length === events.length && before.every((event, i) => event.id === events[i]?.id)) {
    return lastOf(before);
  }
  throw new WrongExpectedRevision(stream, expected, known.at(-1)?.revision);
}

function lastOf(events: readonly StoredEvent[]): AppendResult {
  const last = events.at(-1);
  if (!last) throw new Error('no events where there must be some');
  return { revision: last.revision, position: last.position };
}

function pick(known: readonly StoredEvent[], options: ReadStreamOptions): StoredEvent[] {
  const { from, direction, limit = DEFAULT_LIMIT } = options;
  if (direction !== 'backward') return known.slice(from ?? 0, (from ?? 0) + limit);
  const end = from === undefined ? known.length : from + 1;
  return known.slice(0, end).reverse().slice(0, limit);
}
