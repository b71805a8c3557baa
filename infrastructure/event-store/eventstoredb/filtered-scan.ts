import {
  eventTypeFilter,
  type Filter,
  type Position as LogPosition,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import { matches, type Selection } from '../../../application/ports/event-filter.ts';
import {
  type Position,
  type ScanPage,
  type StoredEvent,
  StoreUnavailable,
} from '../../../application/ports/event-store.ts';
import { formatPosition } from '../positions.ts';
import type { ScanBounds } from '../scan-bounds.ts';
import { decodeEvent, isSystem, logPosition } from './codec.ts';
import type { TimedConnection } from './connection.ts';
import { unavailable } from './errors.ts';
import { type Chunk, Feed } from './feed.ts';

/** Events that the server examines per step, and steps between two checkpoints. */
const SEARCH_WINDOW = 4096;
const CHECKPOINT_INTERVAL = 32;

interface FilteredScan {
  readonly from: Position | undefined;
  readonly selection: Selection;
  readonly limit: number;
  readonly most: ScanBounds;
  /** The end of the log before the scan. */
  readonly end: Position;
}

/**
 * Reads forward by a subscription with the server's filter, up to the end of the log, `limit` or `most`.
 * @returns undefined when the server sends nothing for `timeoutMs`, as servers before 23.10 do at the end of the log
 * @throws {StoreUnavailable}
 */
export async function filteredScan(
  { connection, timeoutMs }: TimedConnection,
  { from, selection, limit, most, end }: FilteredScan,
): Promise<(ScanPage & { events: StoredEvent[] }) | undefined> {
  const start = from === undefined ? undefined : logPosition(from);
  const feed = new Feed((onCheckpoint) =>
    connection.subscribe(
      start !== undefined && start.commit > 0n ? start : START,
      serverFilter(selection, onCheckpoint),
    ),
  );
  const found: StoredEvent[] = [];
  let position = from ?? formatPosition(0);
  /** Returned at the end of the log instead of `position`, which a checkpoint may have moved to a system event. */
  let lastEvent = end;
  let scanned = 0;
  let units = 0;
  try {
    for (;;) {
      const chunk = feed.take(limit - found.length);
      for (const event of selectedOf(chunk, selection)) {
        found.push(event);
        units += event.data.length + event.metadata.length;
      }
      scanned += chunk.events.length;
      if (chunk.checkpoint !== undefined) scanned += SEARCH_WINDOW * CHECKPOINT_INTERVAL;
      const received = chunk.events.at(-1)?.event?.position;
      lastEvent = later(lastEvent, received);
      position = later(later(position, received), chunk.checkpoint);
      if (found.length >= limit || units >= most.units)
        return { events: found, scanned, next: position, position };
      if (feed.isDrained && (feed.live || position >= end)) {
        return { events: found, scanned, next: undefined, position: lastEvent };
      }
      if (scanned >= most.scanned && position > (from ?? '')) {
        return { events: found, scanned, next: position, position };
      }
      if (chunk.events.length > 0 || chunk.checkpoint !== undefined) continue;
      if (!(await feed.wait(timeoutMs))) return undefined;
    }
  } catch (error) {
    throw error instanceof StoreUnavailable ? error : unavailable(error);
  } finally {
    feed.close();
  }
}

function later(position: Position, other: LogPosition | undefined): Position {
  const reported = other === undefined ? position : formatPosition(other.commit);
  return reported > position ? reported : position;
}

function selectedOf({ events }: Chunk, selection: Selection): StoredEvent[] {
  return events.flatMap(({ event }) =>
    event !== undefined &&
    !isSystem(event) &&
    matches(selection, { stream: event.streamId, type: event.type })
      ? [decodeEvent(event)]
      : [],
  );
}

/** The server filters by the stream's prefix or, without one, by types as prefixes; `selectedOf` filters exactly. */
function serverFilter(selection: Selection, onCheckpoint: (position: LogPosition) => void): Filter {
  const common = {
    maxSearchWindow: SEARCH_WINDOW,
    checkpointInterval: CHECKPOINT_INTERVAL,
    checkpointReached: (_: unknown, position: LogPosition) => onCheckpoint(position),
  };
  return selection.prefix === undefined
    ? eventTypeFilter({ prefixes: [...(selection.types ?? [])], ...common })
    : streamNameFilter({ prefixes: [selection.prefix], ...common });
}
