import {
  type AllStreamResolvedEvent,
  type AppendResult,
  BACKWARDS,
  type Direction,
  type EventData,
  EventStoreDBClient,
  type Filter,
  FORWARDS,
  type ReadPosition,
  type ReadRevision,
  type ResolvedEvent,
} from '@eventstore/db-client';
import { readFiltered } from './filtered-read.ts';
import type { ReadFilter, ReadRange, ReadSource } from './read-source.ts';

/** A subscription as a paused stream: `readableLength` events are ready for `read`. */
export interface SubscriptionSource {
  readonly readableLength: number;
  read(): AllStreamResolvedEvent | null;
  on(event: string, listener: (...args: unknown[]) => void): unknown;
  unsubscribe(): Promise<void>;
}

/** Calls `ended` when a subscription fails or ends: a lost server emits `error` and no `end`. */
export const onceEnded = (source: SubscriptionSource, ended: (reason: unknown) => void): void => {
  source.on('error', ended);
  source.on('end', () => ended(new Error('the subscription ended')));
  source.on('close', () => ended(new Error('the subscription was closed')));
};

/** The part of the client that the adapter uses; tests replace it by a fake. */
export interface Connection {
  append(stream: string, expected: 'any' | 'no_stream' | bigint, events: EventData[]): Promise<AppendResult>;
  readStream(stream: string, range: ReadRange<ReadRevision>): ReadSource<ResolvedEvent>;
  /** @param filter evaluated by the server: other events are not sent */
  readAll(range: ReadRange<ReadPosition>, filter?: ReadFilter): ReadSource<AllStreamResolvedEvent>;
  subscribe(from: ReadPosition, filter: Filter): SubscriptionSource;
  dispose(): Promise<void>;
}

/** A connection, and the time limit of each of its calls. */
export interface TimedConnection {
  readonly connection: Connection;
  readonly timeoutMs: number;
}

/**
 * Events that a subscription buffers. A larger buffer speeds up the catch-up, but takes more memory when events are
 * large.
 */
const HIGH_WATER_MARK = 1024;

/**
 * The only client of this process. Two clients would share the package's table of pending appends, and when one
 * client lost its server, appends of the other client would be rejected, crash or hang.
 */
let shared: { readonly url: string; readonly connection: Connection; users: number } | undefined;

/**
 * Returns the process's connection and a function that releases it. Users of the same URL share the connection; the
 * last release closes its streams.
 * @throws when the connection is in use for another URL, or the URL has `throwOnAppendFailure=false`
 */
export function acquireConnection(
  url: string,
  timeoutMs: number,
  connect = connectClient,
): { connection: Connection; release: () => Promise<void> } {
  if (shared && shared.url !== url && shared.users > 0) {
    throw new Error('this process is connected to another EventStoreDB already');
  }
  if (shared?.url !== url) shared = { url, connection: connect(url, timeoutMs), users: 0 };
  const mine = shared;
  mine.users += 1;
  return {
    connection: mine.connection,
    async release() {
      mine.users -= 1;
      if (mine.users === 0) await mine.connection.dispose();
    },
  };
}

/** Never passes `credentials` to a call, since that forces the slow unary append; the URL may contain them. */
function connectClient(url: string, timeoutMs: number): Connection {
  // With false, a failed append returns a wrong revision.
  if (/[?&]throwOnAppendFailure=false/i.test(url)) {
    throw new Error('EVENTSTORE_URL must not set throwOnAppendFailure=false');
  }
  let client = EventStoreDBClient.connectionString(url);
  const renewAfter = (error: unknown, used: EventStoreDBClient): void => {
    if (isDiscoveryFailure(error) && used === client) client = EventStoreDBClient.connectionString(url);
  };
  const watched = <T extends { on(event: 'error', listener: (error: Error) => void): unknown }>(
    start: (used: EventStoreDBClient) => T,
  ): T => {
    const used = client;
    const source = start(used);
    source.on('error', (error) => renewAfter(error, used));
    return source;
  };
  return {
    async append(stream, expectedRevision, events) {
      const used = client;
      try {
        return await used.appendToStream(stream, events, { expectedRevision, deadline: timeoutMs });
      } catch (error) {
        renewAfter(error, used);
        throw error;
      }
    },
    readStream: (stream, { from, backward, maxCount }) =>
      watched((used) =>
        used.readStream(stream, { fromRevision: from, direction: directionOf(backward), maxCount }),
      ),
    readAll: (range, filter) =>
      watched((used): ReadSource<AllStreamResolvedEvent> => {
        if (filter !== undefined) return readFiltered(used, range, filter);
        const { from, backward, maxCount } = range;
        return used.readAll({ fromPosition: from, direction: directionOf(backward), maxCount });
      }),
    subscribe: (fromPosition, filter) =>
      watched((used) => used.subscribeToAll({ fromPosition, filter }, { highWaterMark: HIGH_WATER_MARK })),
    dispose: () => client.dispose(),
  };
}

function directionOf(backward: boolean): Direction {
  return backward ? BACKWARDS : FORWARDS;
}

/**
 * A client that once failed to discover its cluster keeps that error for ever. It has no open streams, so it can be
 * replaced.
 */
function isDiscoveryFailure(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('Failed to discover');
}
