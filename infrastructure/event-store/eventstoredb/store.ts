import { setTimeout } from 'node:timers/promises';
import { BehaviorSubject, filter, share, takeUntil } from 'rxjs';
import {
  type EventStore,
  type ExpectedRevision,
  type NewEvent,
  type Position,
  StoreUnavailable,
} from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { checkAppend } from '../checks.ts';
import { formatPosition } from '../positions.ts';
import { MAX_SCAN_UNITS } from '../scan-bounds.ts';
import { withTimeout } from './calls.ts';
import { encodeEvent, parsePosition } from './codec.ts';
import { acquireConnection, type Connection, type TimedConnection } from './connection.ts';
import { appendError, mayBeInFlight } from './errors.ts';
import { withImportedPositions } from './imported-connection.ts';
import { LateAppends } from './late-appends.ts';
import { liveSource } from './live-source.ts';
import { readEnd, readStream, readStreams, scanAll } from './reads.ts';

interface EventStoreDbOptions {
  /** `esdb://…`; may contain a user name and password, so it is never logged. */
  readonly url: string;
  /**
   * Limit (ms) of a call; a read with a filter may take four times as long. The server may still store an append that
   * exceeds the limit. Default 5,000.
   */
  readonly timeoutMs?: number | undefined;
  readonly logger?: Logger | undefined;
}

const TIMEOUT_MS = 5000;
/** Pause before an append is repeated: the server answers `Timeout` while an identical one is in flight. */
const IN_FLIGHT_PAUSE_MS = 10;

/**
 * The event store on an EventStoreDB server (23.10 or later). Opening does not wait for the server: until it is
 * available, calls fail with {@link StoreUnavailable}, and followers wait.
 * @throws when this process has a store open at another URL, or the URL has `throwOnAppendFailure=false`
 */
export function openEventStoreDb(options: EventStoreDbOptions): EventStore {
  const { url, timeoutMs = TIMEOUT_MS, logger } = options;
  const { connection, release } = acquireConnection(url, timeoutMs);
  return overConnection(withImportedPositions({ connection, timeoutMs }), { timeoutMs, logger, release });
}

interface Wiring {
  readonly timeoutMs: number;
  readonly logger?: Logger | undefined;
  readonly release: () => Promise<void>;
}

/** The adapter over any connection; tests pass a fake. */
export function overConnection(connection: Connection, wiring: Wiring): EventStore {
  const { timeoutMs, logger, release } = wiring;
  const timed = { connection, timeoutMs };
  const closed = new BehaviorSubject(false);
  const ensureOpen = (): void => {
    if (closed.value) throw new StoreUnavailable('the event store is closed');
  };
  const end = async () => {
    ensureOpen();
    return readEnd(timed);
  };

  const late = new LateAppends();
  const settled = async (streams: readonly string[]): Promise<void> => {
    const waiting = streams.flatMap((stream) => late.of(stream) ?? []);
    if (waiting.length === 0) return;
    await withTimeout('an append before a read', timeoutMs, () => Promise.all(waiting));
  };
  const page = async (after: Position, limit: number) => {
    ensureOpen();
    return (await scanAll(timed, { from: after, limit })).events;
  };
  // All followers share one subscription.
  const live = liveSource({ connection, end, page, logger }).pipe(
    takeUntil(closed.pipe(filter(Boolean))),
    share(),
  );

  return {
    async append(stream, expected, events) {
      ensureOpen();
      checkAppend(stream, expected, events);
      return append({ ...timed, late }, stream, expected, events);
    },
    async readStream(stream, readOptions = {}) {
      ensureOpen();
      await settled([stream]);
      return readStream(timed, stream, readOptions);
    },
    async readStreams(streams, limit, enough) {
      ensureOpen();
      await settled(streams);
      return readStreams(timed, streams, limit, enough);
    },
    async readAll(readOptions = {}) {
      ensureOpen();
      return (await scanAll(timed, readOptions)).events;
    },
    async scanAll(readOptions, scanned) {
      ensureOpen();
      return scanAll(timed, readOptions, { scanned, units: MAX_SCAN_UNITS });
    },
    onGrowth(listener) {
      const listening = live.subscribe(listener);
      return () => listening.unsubscribe();
    },
    end,
    parsePosition,
    async close() {
      if (closed.value) return;
      closed.next(true);
      try {
        await withTimeout('closing', timeoutMs, release);
      } catch (error) {
        logger?.warn({ err: error }, 'EventStoreDB streams could not be closed cleanly');
      }
    },
  };
}

interface AppendDeps extends TimedConnection {
  readonly late: LateAppends;
}

async function append(
  { connection, timeoutMs, late }: AppendDeps,
  stream: string,
  expected: ExpectedRevision,
  events: readonly NewEvent[],
) {
  const revisionOrWord = typeof expected === 'number' ? BigInt(expected) : expected;
  const encoded = events.map(encodeEvent);
  const deadline = performance.now() + timeoutMs;
  for (;;) {
    const sending = connection.append(stream, revisionOrWord, encoded);
    try {
      const result = await withTimeout('an append', timeoutMs, () => sending);
      const revision = Number(result.nextExpectedRevision);
      if (result.position) return { revision, position: formatPosition(result.position.commit) };
      return { revision, position: await positionAt({ connection, timeoutMs }, stream, revision) };
    } catch (error) {
      if (error instanceof StoreUnavailable) late.add(stream, sending);
      // Ids make the append idempotent: a retry gets the same answer as the identical append.
      if (!mayBeInFlight(error) || performance.now() > deadline) throw appendError(error, stream, expected);
      await setTimeout(IN_FLIGHT_PAUSE_MS);
    }
  }
}

/** Reads the position of an acknowledged append, since the protocol allows an acknowledgement without one. */
async function positionAt(timed: TimedConnection, stream: string, revision: number) {
  const [event] = await readStream(timed, stream, { from: revision, limit: 1 });
  if (!event)
    throw new StoreUnavailable(`EventStoreDB: ${stream}@${revision} was appended but cannot be found`);
  return event.position;
}
