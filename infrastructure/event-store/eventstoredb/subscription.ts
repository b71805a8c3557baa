import {
  eventTypeFilter,
  excludeSystemEvents,
  type Filter,
  type Position as LogPosition,
  START,
  streamNameFilter,
} from '@eventstore/db-client';
import type {
  EventBatch,
  Position,
  StoredEvent,
  SubscribeOptions,
} from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { matches, type Selection, select } from '../filters.ts';
import { formatPosition } from '../positions.ts';
import { pause } from '../wakeup.ts';
import { decodeEvent, isSystem, logPosition } from './codec.ts';
import type { Connection } from './connection.ts';
import { type Chunk, Feed } from './feed.ts';

export interface FollowDependencies {
  readonly connection: Connection;
  /** Position of the last event that is not the server's own. */
  readonly head: () => Promise<Position | undefined>;
  /** Aborted when the store is closed. */
  readonly closed: AbortSignal;
  readonly logger?: Logger | undefined;
  /** First pause after a lost connection; doubles up to 50 times this. Default 100 ms. */
  readonly retryMs?: number | undefined;
}

/** Events that the server looks at before it tells a checkpoint while it filters. */
const SEARCH_WINDOW = 512;
/** A filtered catch-up that is silent for so long has nothing more to find. */
const IDLE_MS = 200;
const DEFAULT_BATCH = 512;

/** Where a subscription stands, over all its connections. */
interface Progress {
  scanned: LogPosition | undefined;
  /** False until the consumer has been told that it is at the end. */
  toldEnd: boolean;
}

/**
 * The port's subscription over connections that come and go. A subscription of the client never reconnects: after
 * an error, a drop or an end it is made again from the last position that the consumer has been given.
 *
 * With a filter the server selects while there is much to catch up with. Live, everything but system events is
 * taken and selected here, because only so the position follows each append: a server-side filter tells how far
 * it is only every so many events, and readers wait for that position.
 */
export async function* followAll(
  { connection, head, closed, logger, retryMs = 100 }: FollowDependencies,
  options: SubscribeOptions,
): AsyncGenerator<EventBatch, void, void> {
  const signal = AbortSignal.any([options.signal, closed]);
  const selection = select(options.filter);
  const limit = options.batchSize ?? DEFAULT_BATCH;
  const after = options.after;
  const progress: Progress = { scanned: after && logPosition(after), toldEnd: false };
  let failures = 0;
  while (!signal.aborted) {
    try {
      let filtered = selection !== undefined;
      const target = await unlessAborted(head(), signal);
      if (target === 'aborted') return;
      for (;;) {
        const feed = openFeed(connection, progress, filtered ? selection : undefined);
        try {
          for await (const batch of session(feed, progress, { selection, limit, target, filtered, signal })) {
            failures = 0;
            yield batch;
          }
        } finally {
          feed.close();
        }
        if (signal.aborted) return;
        filtered = false;
      }
    } catch (error) {
      if (signal.aborted) return;
      logger?.warn({ err: error, position: positionOf(progress) }, 'subscription lost its connection');
    }
    await pause(Math.min(2 ** failures++, 50) * retryMs * (0.5 + Math.random() / 2), signal);
  }
}

/** An abort need not wait for a server that does not answer. */
async function unlessAborted(
  head: Promise<Position | undefined>,
  signal: AbortSignal,
): Promise<Position | 'aborted'> {
  const { promise, resolve } = Promise.withResolvers<'aborted'>();
  const abort = (): void => resolve('aborted');
  if (signal.aborted) abort();
  signal.addEventListener('abort', abort);
  try {
    return (await Promise.race([head, promise])) ?? formatPosition(0);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

interface Session {
  readonly selection: Selection | undefined;
  readonly limit: number;
  /** The head of the log as the connection was made. */
  readonly target: Position;
  readonly filtered: boolean;
  readonly signal: AbortSignal;
}

/** One connection. Returns when aborted or, while the server filters, at the end of the log. */
async function* session(
  feed: Feed,
  progress: Progress,
  { selection, limit, target, filtered, signal }: Session,
): AsyncGenerator<EventBatch, void, void> {
  let idle = false;
  while (!signal.aborted) {
    const before = positionOf(progress);
    const chunk = feed.take(limit);
    advance(progress, chunk);
    const position = positionOf(progress);
    const atEnd = feed.isDrained && (feed.live || position >= target);
    // While the server filters, the position may lag behind the end that the server tells of.
    const caughtUp = atEnd && !filtered;
    if (position !== before || (caughtUp && !progress.toldEnd)) {
      progress.toldEnd = caughtUp;
      yield { events: decode(chunk, selection), position, caughtUp };
      idle = false;
    } else if (filtered && (atEnd || idle)) {
      return;
    } else {
      await feed.wait(filtered ? IDLE_MS : undefined, signal);
      idle = feed.isDrained;
    }
  }
}

/** The greater of the last event and the checkpoint: a checkpoint may be about events before or after it. */
function advance(progress: Progress, { events, checkpoint }: Chunk): void {
  const last = events.at(-1)?.event?.position;
  for (const position of [last, checkpoint]) {
    if (position && position.commit > (progress.scanned?.commit ?? -1n)) progress.scanned = position;
  }
}

function decode({ events }: Chunk, selection: Selection | undefined): StoredEvent[] {
  const decoded: StoredEvent[] = [];
  for (const { event } of events) {
    if (!event || isSystem(event)) continue;
    if (matches(selection, { stream: event.streamId, type: event.type })) decoded.push(decodeEvent(event));
  }
  return decoded;
}

function positionOf({ scanned }: Progress): Position {
  return formatPosition(scanned?.commit ?? 0n);
}

function openFeed(connection: Connection, { scanned }: Progress, selection: Selection | undefined): Feed {
  const from = scanned && scanned.commit > 0n ? scanned : START;
  return new Feed((onCheckpoint) => connection.subscribe(from, serverFilter(selection, onCheckpoint)));
}

/** The server can filter by one condition; the other is left to the client, and so is exactness of a type. */
function serverFilter(
  selection: Selection | undefined,
  onCheckpoint: (position: LogPosition) => void,
): Filter {
  const common = {
    maxSearchWindow: SEARCH_WINDOW,
    checkpointInterval: 1,
    checkpointReached: (_: unknown, position: LogPosition) => onCheckpoint(position),
  };
  if (selection?.prefix) return streamNameFilter({ prefixes: [selection.prefix], ...common });
  if (selection?.types) return eventTypeFilter({ prefixes: [...selection.types], ...common });
  return excludeSystemEvents(common);
}
