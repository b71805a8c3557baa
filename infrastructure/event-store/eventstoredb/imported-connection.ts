import {
  type AllStreamResolvedEvent,
  END,
  type Filter,
  type Position as LogPosition,
  type ReadPosition,
  type ResolvedEvent,
  START,
} from '@eventstore/db-client';
import { collect } from './calls.ts';
import { isSystem } from './codec.ts';
import type { Connection, SubscriptionSource, TimedConnection } from './connection.ts';
import { DeferredSubscription, deferredRead } from './deferred-sources.ts';
import { importedIn } from './imported-events.ts';
import { ImportedPositions, readNotes } from './imported-positions.ts';
import type { ReadSource } from './read-source.ts';

/** Imported events from one noted position to the next. To find a position, a read scans about as many events. */
export const STRIDE = 256;

/**
 * A connection that gives imported events their positions in the original store (decision 36). Changes nothing in a
 * store without an import.
 */
export const withImportedPositions = (timed: TimedConnection): Connection => {
  const { connection } = timed;
  let loading: Promise<ImportedPositions | undefined> | undefined;
  /** Undefined for a store without an import; read once. */
  const positions = (): Promise<ImportedPositions | undefined> => {
    loading ??= load(timed).catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
  return {
    async append(stream, expected, events) {
      const known = await positions();
      const result = await connection.append(stream, expected, events);
      const { position, ...rest } = result;
      if (known === undefined || position === undefined) return result;
      // A repeated append of an imported event is answered without a position; the adapter reads it from the event.
      return position.commit > known.end
        ? { ...rest, position: placeOf(known.ownOfLater(position.commit)) }
        : rest;
    },
    readStream: (stream, range) =>
      deferredRead<ResolvedEvent>(async function* (open) {
        const known = await positions();
        for await (const found of open(connection.readStream(stream, range))) {
          yield known === undefined || found.event === undefined
            ? found
            : { ...found, event: renamed(known, found.event) };
        }
      }),
    readAll: (range, ...more) =>
      deferredRead<AllStreamResolvedEvent>(async function* (open) {
        const known = await positions();
        if (known === undefined) yield* open(connection.readAll(range, ...more));
        else yield* allOf({ ...timed, known }, [range, ...more], open);
      }),
    subscribe: (from, filter) =>
      new DeferredSubscription(async () => {
        const known = await positions();
        if (known === undefined) return connection.subscribe(from, filter);
        const start = await serverPlace({ ...timed, known }, from, false);
        return renamedSource(known, connection.subscribe(start, renamedFilter(known, filter)));
      }),
    dispose: () => connection.dispose(),
  };
};

const load = async (timed: TimedConnection): Promise<ImportedPositions | undefined> => {
  const notes = await readNotes(timed);
  return notes === undefined ? undefined : new ImportedPositions(notes);
};

const placeOf = (offset: bigint): LogPosition => ({ commit: offset, prepare: offset });

/** An event with its original position and metadata. */
const renamed = <E extends { readonly position?: LogPosition | undefined; readonly metadata?: unknown }>(
  known: ImportedPositions,
  event: E,
): E => {
  const server = event.position?.commit;
  if (server === undefined) return event;
  if (server > known.end) return { ...event, position: placeOf(known.ownOfLater(server)) };
  const imported = importedIn(event.metadata);
  if (imported === undefined) return { ...event, position: placeOf(known.ownAtMost(server)) };
  return { ...event, position: placeOf(imported.position), metadata: imported.metadata };
};

interface Mapped extends TimedConnection {
  readonly known: ImportedPositions;
}

/**
 * Reads `$all` with original positions. Skips events of the server itself among imported ones: they have no original
 * position.
 */
async function* allOf(
  mapped: Mapped,
  [{ from, backward, maxCount }, ...more]: Parameters<Connection['readAll']>,
  open: <E>(source: ReadSource<E>) => AsyncIterable<E>,
): AsyncGenerator<AllStreamResolvedEvent> {
  const { connection, known } = mapped;
  let next = await serverPlace(mapped, from, backward);
  let last: bigint | undefined;
  for (let left = maxCount; left > 0; ) {
    let seen = 0;
    // The server may return the last event of the previous page again.
    const wanted = left + (last === undefined ? 0 : 1);
    const range = { from: next, backward, maxCount: wanted };
    for await (const found of open(connection.readAll(range, ...more))) {
      seen += 1;
      const { event } = found;
      if (event === undefined || event.position.commit === last) continue;
      last = event.position.commit;
      if (last <= known.end && isSystem(event)) continue;
      yield { ...found, event: renamed(known, event) };
      left -= 1;
      if (left === 0) return;
    }
    if (seen < wanted || last === undefined) return;
    next = placeOf(last);
  }
}

/**
 * Maps an original position to the server's. If no event has the original position, takes the event before it, or the
 * event after it when reading backward.
 */
const serverPlace = async (
  { connection, timeoutMs, known }: Mapped,
  from: ReadPosition,
  backward: boolean,
): Promise<ReadPosition> => {
  if (typeof from === 'string') return from;
  const own = from.commit;
  const later = known.serverOfLater(own);
  if (later !== undefined) return placeOf(later);
  const before = known.before(own);
  if (before === undefined) return START;
  if (before.own === own) return placeOf(before.server);
  let { server } = before;
  for (let next = server; ; ) {
    const range = { from: placeOf(next), backward: false, maxCount: STRIDE };
    const page = await collect('finding a position', timeoutMs, connection.readAll(range));
    for (const { event } of page) {
      if (event === undefined) continue;
      next = event.position.commit;
      if (isSystem(event)) continue;
      const found = renamed(known, event).position.commit;
      if (found > own) return placeOf(backward ? next : server);
      server = next;
      if (found === own) return placeOf(server);
    }
    if (page.length < STRIDE) return backward ? END : placeOf(server);
  }
};

const renamedFilter = (known: ImportedPositions, filter: Filter): Filter => {
  const { checkpointReached } = filter;
  if (checkpointReached === undefined) return filter;
  return {
    ...filter,
    checkpointReached: (subscription, { commit }) =>
      checkpointReached(subscription, placeOf(known.ownAtMost(commit))),
  };
};

const renamedSource = (known: ImportedPositions, source: SubscriptionSource): SubscriptionSource => ({
  get readableLength() {
    return source.readableLength;
  },
  read() {
    const found = source.read();
    return found?.event === undefined ? found : { ...found, event: renamed(known, found.event) };
  },
  on: (event, listener) => source.on(event, listener),
  unsubscribe: () => source.unsubscribe(),
});
