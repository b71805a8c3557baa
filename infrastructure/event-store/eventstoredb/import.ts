import { END, START } from '@eventstore/db-client';
import type { StoredEvent } from '../../../application/ports/event-store.ts';
import { checkAppend } from '../checks.ts';
import { ImportError, type ImportedLog, type LogImport } from '../log-import.ts';
import { formatPosition } from '../positions.ts';
import { collect, withTimeout } from './calls.ts';
import { encodeEvent, isSystem } from './codec.ts';
import { acquireConnection, type Connection } from './connection.ts';
import { appendError } from './errors.ts';
import { STRIDE } from './imported-connection.ts';
import { encodeImported, importedIn } from './imported-events.ts';
import { begunNote, closingNotes, NOTES, type PositionPair, readNotes } from './imported-positions.ts';

const TIMEOUT_MS = 30_000;
const PAGE = 1000;
/** UTF-16 units of one append, unless one event has more; the server accepts 1 MiB. */
const MAX_UNITS = 256 * 1024;
const MAX_EVENTS = 500;

/** Imports a log into an EventStoreDB server, one append at a time, to keep the order of the log. */
export const openEventStoreDbImport = (url: string): LogImport => {
  const { connection, release } = acquireConnection(url, TIMEOUT_MS);
  return {
    async begin(log, isNew) {
      const notes = await readNotes({ connection, timeoutMs: TIMEOUT_MS });
      const last = await lastEvent(connection);
      if (notes === undefined) {
        if (last !== undefined) throw new ImportError('the event store is not empty');
        await isNew();
        await append(connection, NOTES, -1, [encodeEvent(begunNote(log))]);
        return { isComplete: false, last: undefined };
      }
      if (notes.log.id !== log.id)
        throw new ImportError('the event store holds the import of another export');
      if (notes.end !== undefined) return { isComplete: true, last: log.end };
      if (last === undefined) return { isComplete: false, last };
      const imported = importedIn(last.metadata);
      if (imported === undefined) throw new ImportError('another program has written into the event store');
      return { isComplete: false, last: formatPosition(imported.position) };
    },
    async append(events) {
      for (const run of runsOf(events)) {
        const [first] = run;
        if (first === undefined) continue;
        checkAppend(first.stream, 'any', run);
        await append(connection, first.stream, first.revision - 1, run.map(encodeImported));
      }
    },
    async finish(log) {
      const notes = await readNotes({ connection, timeoutMs: TIMEOUT_MS });
      if (notes?.end !== undefined) return;
      const pairs = await pairsOf(connection, log);
      for (const { revision, event } of closingNotes(log, pairs)) {
        await append(connection, NOTES, revision - 1, [encodeEvent(event)]);
      }
    },
    close: release,
  };
};

/**
 * Appends events; safe to repeat.
 * @param after the last revision that the stream must have; -1 if the stream must not exist
 */
const append = async (
  connection: Connection,
  stream: string,
  after: number,
  events: Parameters<Connection['append']>[2],
): Promise<void> => {
  const expected = after < 0 ? 'no_stream' : BigInt(after);
  try {
    await withTimeout('an append', TIMEOUT_MS, () => connection.append(stream, expected, events));
  } catch (error) {
    throw appendError(error, stream, after < 0 ? 'no_stream' : after);
  }
};

/** Consecutive events of one stream that fit into one append. */
function* runsOf(events: readonly StoredEvent[]): Generator<StoredEvent[]> {
  let run: StoredEvent[] = [];
  let units = 0;
  for (const event of events) {
    const size = event.data.length + event.metadata.length;
    const last = run.at(-1);
    const isNext =
      last === undefined || (last.stream === event.stream && last.revision + 1 === event.revision);
    if (!isNext || run.length >= MAX_EVENTS || (run.length > 0 && units + size > MAX_UNITS)) {
      yield run;
      run = [];
      units = 0;
    }
    run.push(event);
    units += size;
  }
  if (run.length > 0) yield run;
}

const lastEvent = async (connection: Connection) => {
  for await (const event of eventsOf(connection, true)) return event;
  return undefined;
};

/**
 * Checks by reading that every event was imported once and in order. Returns the positions of every {@link STRIDE}th
 * event and of the last one.
 */
const pairsOf = async (connection: Connection, { events, end }: ImportedLog): Promise<PositionPair[]> => {
  const pairs: PositionPair[] = [];
  let count = 0;
  let last: PositionPair | undefined;
  for await (const { metadata, position } of eventsOf(connection, false)) {
    const own = importedIn(metadata)?.position;
    if (own === undefined) throw new ImportError('another program has written into the event store');
    if (last !== undefined && own <= last.own)
      throw new ImportError('the event store holds events out of order');
    last = { own, server: position.commit };
    if (count % STRIDE === 0) pairs.push(last);
    count += 1;
  }
  if (count !== events || (last !== undefined && formatPosition(last.own) !== end)) {
    throw new ImportError(`the event store holds ${count} of ${events} events`);
  }
  if (last !== undefined && pairs.at(-1) !== last) pairs.push(last);
  return pairs;
};

/** All events except the server's own. */
async function* eventsOf(connection: Connection, backward: boolean) {
  let from: Parameters<Connection['readAll']>[0]['from'] = backward ? END : START;
  let last: bigint | undefined;
  for (;;) {
    const source = connection.readAll({ from, backward, maxCount: PAGE });
    const page = await collect('reading the log', TIMEOUT_MS, source);
    for (const { event } of page) {
      if (event === undefined || event.position.commit === last) continue;
      last = event.position.commit;
      if (!isSystem(event)) yield event;
    }
    if (page.length < PAGE || last === undefined) return;
    from = { commit: last, prepare: last };
  }
}
