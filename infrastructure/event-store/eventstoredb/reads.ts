import { type AllStreamResolvedEvent, END, type ReadPosition, START } from '@eventstore/db-client';
import { matches, type Selection, select } from '../../../application/ports/event-filter.ts';
import type {
  Position,
  ReadAllOptions,
  ReadStreamOptions,
  ScanPage,
  StoredEvent,
} from '../../../application/ports/event-store.ts';
import { formatPosition } from '../positions.ts';
import { type ScanBounds, WHOLE } from '../scan-bounds.ts';
import { collect } from './calls.ts';
import { decodeEvent, isSystem, logPosition } from './codec.ts';
import type { Connection, TimedConnection } from './connection.ts';
import { isMissingStream, unavailable } from './errors.ts';
import { filteredScan } from './filtered-scan.ts';
import type { ReadFilter } from './read-source.ts';

const DEFAULT_LIMIT = 1000;
/** Events per call, so that each call stays well within its time limit. */
const PAGE = 1024;
const SPARE = 16;
/** Factor of the time limit for a read with a filter. */
const SEARCHING = 4;
/** Streams that are read concurrently. */
const AT_ONCE = 32;
/** Streams that are read concurrently when they may be large. */
const FEW = 8;

/** @throws {StoreUnavailable} */
export async function readStream(
  timed: TimedConnection,
  stream: string,
  options: ReadStreamOptions,
): Promise<StoredEvent[]> {
  const { from, limit = DEFAULT_LIMIT } = options;
  const backward = options.direction === 'backward';
  const found: StoredEvent[] = [];
  let next: bigint | 'start' | 'end' = from === undefined ? (backward ? END : START) : BigInt(from);
  while (found.length < limit) {
    const maxCount = Math.min(limit - found.length, PAGE);
    const page = await streamPage(timed, stream, { from: next, backward, maxCount });
    found.push(...page);
    const last = page.at(-1);
    if (!last) {
      // A backward read from beyond the stream's end finds nothing, so it is repeated from the end.
      if (!backward || found.length > 0 || typeof next !== 'bigint') break;
      const [end] = await streamPage(timed, stream, { from: END, backward, maxCount: 1 });
      if (!end || BigInt(end.revision) >= next) break;
      next = END;
    } else if (backward ? last.revision === 0 : page.length < maxCount) {
      break;
    } else {
      next = BigInt(last.revision + (backward ? -1 : 1));
    }
  }
  return found;
}

/** @throws {StoreUnavailable} */
export async function readStreams(
  timed: TimedConnection,
  streams: readonly string[],
  limit: number,
  enough = Number.POSITIVE_INFINITY,
): Promise<StoredEvent[][]> {
  const found: StoredEvent[][] = [];
  const atOnce = Number.isFinite(enough) ? FEW : AT_ONCE;
  let units = 0;
  for (let at = 0; at < streams.length && (at === 0 || units < enough); at += atOnce) {
    const some = streams.slice(at, at + atOnce);
    const page = await Promise.all(some.map((stream) => readStream(timed, stream, { limit })));
    for (const events of page) {
      found.push(events);
      for (const { data, metadata } of events) units += data.length + metadata.length;
    }
  }
  return found;
}

async function streamPage(
  { connection, timeoutMs }: TimedConnection,
  stream: string,
  range: Parameters<Connection['readStream']>[1],
): Promise<StoredEvent[]> {
  try {
    const source = connection.readStream(stream, range);
    const page = await collect('reading a stream', timeoutMs, source);
    return page.flatMap(({ event }) => (event ? [decodeEvent(event)] : []));
  } catch (error) {
    if (isMissingStream(error)) return [];
    throw unavailable(error);
  }
}

/**
 * Scans `$all`. A forward scan with a filter uses a subscription, which reports its progress. Any other scan uses
 * reads; so does a filtered scan if the server does not report the end of the log.
 * @throws {StoreUnavailable}
 */
export async function scanAll(
  timed: TimedConnection,
  options: ReadAllOptions,
  most: ScanBounds = WHOLE,
): Promise<ScanPage & { events: StoredEvent[] }> {
  const { from, limit = DEFAULT_LIMIT } = options;
  const selection = select(options.filter);
  if (selection === undefined || options.direction === 'backward' || limit <= 0) {
    return scanPages(timed, options, most);
  }
  const end = await readEnd(timed);
  if (end === undefined || (from !== undefined && from >= end)) {
    return { events: [], scanned: 0, next: undefined, position: from ?? formatPosition(0) };
  }
  const scan = { from, selection, limit, most, end };
  return (await filteredScan(timed, scan)) ?? scanPages(timed, options, most);
}

/** Reads `$all` in pages. `options.from` is exclusive, also when the server returns the event at it. */
async function scanPages(
  { connection, timeoutMs }: TimedConnection,
  options: ReadAllOptions,
  most: ScanBounds,
): Promise<ScanPage & { events: StoredEvent[] }> {
  const { from: bound, limit = DEFAULT_LIMIT } = options;
  const backward = options.direction === 'backward';
  const selection = select(options.filter);
  const filter = selection === undefined ? undefined : readFilter(selection);
  // A filtered read may examine the whole log before it finds an event.
  const searching = { connection, timeoutMs: filter === undefined ? timeoutMs : timeoutMs * SEARCHING };
  const found: StoredEvent[] = [];
  let from: ReadPosition = bound ? logPosition(bound) : backward ? END : START;
  let last: Position | undefined = bound;
  /** Position of the product's last event; a forward scan returns it at the end of the log. */
  let lastOwn: Position | undefined = bound;
  let scanned = 0;
  let units = 0;
  const isEnough = ({ event }: AllStreamResolvedEvent): boolean => {
    if (event?.data instanceof Uint8Array) units += event.data.length;
    return units >= most.units;
  };
  let spare = 0;
  while (found.length < limit) {
    // When reading forward, the server returns the event at the bound again.
    const again = !backward && last !== undefined ? 1 : 0;
    const maxCount = Math.min(limit - found.length + again + spare, PAGE);
    const page = await allPage(searching, { from, backward, maxCount }, filter, isEnough);
    const before = last;
    for (const { event } of page) {
      if (found.length >= limit) break;
      if (!event) continue;
      const position = formatPosition(event.position.commit);
      if (!isBeyond(position, last, backward)) continue;
      last = position;
      scanned += 1;
      if (!isSystem(event)) lastOwn = position;
      const named = { stream: event.streamId, type: event.type };
      if (!isSystem(event) && matches(selection, named)) found.push(decodeEvent(event));
    }
    const full = found.length >= limit || units >= most.units;
    if (last === undefined || (!full && (last === before || page.length < maxCount))) {
      const position = (backward ? last : lastOwn) ?? formatPosition(0);
      return { events: found, scanned, next: undefined, position };
    }
    if (full || scanned >= most.scanned) break;
    from = logPosition(last);
    // The page may have held events that were not selected, so the next page is larger.
    spare = Math.min(spare * 4 + SPARE, PAGE);
  }
  return { events: found, scanned, next: last, position: last ?? formatPosition(0) };
}

/** The server evaluates one condition by prefix; the caller checks the other one, and exact types. */
function readFilter({ prefix, types }: Selection): ReadFilter {
  return prefix === undefined
    ? { on: 'type', prefixes: [...(types ?? [])] }
    : { on: 'stream', prefixes: [prefix] };
}

/** The position of the product's last event; many events of the server may follow it. */
export async function readEnd(timed: TimedConnection): Promise<Position | undefined> {
  const { events } = await scanAll(timed, { direction: 'backward', limit: 1 });
  return events[0]?.position;
}

async function allPage(
  { connection, timeoutMs }: TimedConnection,
  range: Parameters<Connection['readAll']>[0],
  filter: ReadFilter | undefined,
  isEnough: (item: AllStreamResolvedEvent) => boolean,
): Promise<AllStreamResolvedEvent[]> {
  try {
    return await collect('reading the log', timeoutMs, connection.readAll(range, filter), isEnough);
  } catch (error) {
    throw unavailable(error);
  }
}

function isBeyond(position: Position, bound: Position | undefined, backward: boolean): boolean {
  if (bound === undefined) return true;
  return backward ? position < bound : position > bound;
}
