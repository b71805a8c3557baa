import type { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTick } from 'node:timers/promises';
import { select } from '../../../application/ports/event-filter.ts';
import {
  type EventStore,
  type ReadAllOptions,
  type ReadStreamOptions,
  type ScanPage,
  type StoredEvent,
  StoreUnavailable,
} from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { MaintenanceThread } from '../../maintenance/maintenance-thread.ts';
import { Checkpoints } from '../../sqlite/checkpoints.ts';
import { retrying } from '../../sqlite/connection.ts';
import { resultCode, unavailable } from '../../sqlite/errors.ts';
import { requireFreeSpace } from '../../sqlite/free-space.ts';
import { checkAppend } from '../checks.ts';
import { formatPosition, isPosition, offsetOf, parseOffset } from '../positions.ts';
import { MAX_SCAN_UNITS, type ScanBounds, WHOLE } from '../scan-bounds.ts';
import { WINDOW } from './blocks.ts';
import { LiveLog } from './live-log.ts';
import { AppendQueue } from './queue.ts';
import { openDatabase } from './schema.ts';
import { Writer } from './writer.ts';

export interface SqliteEventStoreOptions {
  /** The database file; its folder must exist. Several processes of one machine may open it. */
  readonly path: string;
  /** Interval (ms) of polls for other processes' writes while the log has followers. Default 25. */
  readonly pollMs?: number | undefined;
  /** Maximum file size in pages of 4 KiB; further appends fail as on a full disk. Default: unbounded. */
  readonly maxPages?: number | undefined;
  /** Time (ms) that an append waits for another process's lock. Default 5,000. */
  readonly lockTimeoutMs?: number | undefined;
  readonly logger?: Logger | undefined;
  /**
   * Makes WAL checkpoints; closed by the caller before this store. Default: a thread that the store starts and
   * closes.
   */
  readonly maintenance?: MaintenanceThread | undefined;
}

const DEFAULT_LIMIT = 1000;

/**
 * The embedded event store: one SQLite file in WAL mode, every acknowledged append fsynced. Appends that are added
 * together share one transaction ({@link AppendQueue}), and are then announced to followers.
 * @throws {StoreUnavailable} when the file cannot be opened; {UnfinishedImport}; {Error} for an unknown schema
 */
export function openSqliteEventStore(options: SqliteEventStoreOptions): EventStore {
  const { path, pollMs = 25, lockTimeoutMs = 5000, maxPages, logger } = options;
  const db = open(path, maxPages);
  const log = new LiveLog(db, { pollMs, logger });
  const maintenance = options.maintenance ?? new MaintenanceThread();
  const checkpoints = new Checkpoints(path, maintenance, logger);
  const writer = new Writer(db, log.state);
  const queue = new AppendQueue(
    (appends) => {
      requireFreeSpace(path);
      const written = writer.write(appends);
      log.announce(written);
      checkpoints.wrote(pagesOf(written.events));
      return written;
    },
    lockTimeoutMs,
    logger,
  );

  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    log.close();
    await queue.drained();
    checkpoints.end();
    if (options.maintenance === undefined) await maintenance.close();
    db.close();
  };

  return {
    append(stream, expected, events) {
      // Not async, which would add a second promise to each append.
      try {
        ensureOpen(log.closed);
        checkAppend(stream, expected, events);
      } catch (error) {
        return Promise.reject(error);
      }
      return queue.add(stream, expected, events);
    },
    readStream: (stream, readOptions = {}) => readStream(log, stream, readOptions),
    readStreams: (streams, limit, enough) => readStreams(log, streams, limit, enough),
    readAll: async (readOptions = {}) => (await scanAll(log, readOptions, WHOLE)).events,
    scanAll: (readOptions, scanned) => scanAll(log, readOptions, { scanned, units: MAX_SCAN_UNITS }),
    onGrowth: (listener) => log.onGrowth(listener),
    wake: () => log.poll(),
    async end() {
      const end = await read(log, () => log.refresh());
      return end === 0 ? undefined : formatPosition(end);
    },
    parsePosition: (text) => (isPosition(text) && parseOffset(text) !== undefined ? text : undefined),
    close() {
      closing ??= close();
      return closing;
    },
  };
}

const PAGE_UNITS = 4000;

/** Estimates the pages that events fill: their texts, and one page each in the index of streams. */
function pagesOf(events: readonly StoredEvent[]): number {
  let units = 0;
  for (const { data, metadata } of events) units += data.length + metadata.length;
  return events.length + units / PAGE_UNITS;
}

function open(path: string, maxPages: number | undefined): DatabaseSync {
  try {
    return openDatabase(path, { maxPages });
  } catch (error) {
    // Waiting does not help against an unknown schema or an incomplete import, so these are not `StoreUnavailable`.
    throw resultCode(error) === undefined ? error : unavailable(`event log ${path} cannot be opened`, error);
  }
}

async function readStream(log: LiveLog, stream: string, options: ReadStreamOptions): Promise<StoredEvent[]> {
  const { limit = DEFAULT_LIMIT } = options;
  const forward = options.direction !== 'backward';
  let from = options.from ?? (forward ? 0 : Number.MAX_SAFE_INTEGER);
  const found: StoredEvent[] = [];
  while (found.length < limit && from >= 0) {
    const wanted = limit - found.length;
    const page = await read(log, () => log.reader.streamPage(stream, from, forward, wanted));
    const last = page.events.at(-1);
    if (found.length === 0 && page.atEnd) return page.events;
    if (!last) break;
    for (const event of page.events) found.push(event);
    if (page.atEnd) break;
    from = forward ? last.revision + 1 : last.revision - 1;
    if (found.length < limit) await nextTick();
  }
  return found;
}

async function readStreams(
  log: LiveLog,
  streams: readonly string[],
  limit: number,
  enough = Number.POSITIVE_INFINITY,
): Promise<StoredEvent[][]> {
  const found: StoredEvent[][] = [];
  let left = enough;
  for (;;) {
    const rest = streams.slice(found.length);
    const { found: page, units } = await read(log, () => log.reader.streamsPage(rest, limit, left));
    for (const events of page) found.push(events);
    left -= units;
    if (found.length >= streams.length || left <= 0) return found;
    await nextTick();
  }
}

async function scanAll(
  log: LiveLog,
  options: ReadAllOptions,
  most: ScanBounds,
): Promise<ScanPage & { events: StoredEvent[] }> {
  const { limit = DEFAULT_LIMIT, from } = options;
  const selection = select(options.filter);
  const forward = options.direction !== 'backward';
  let bound = from === undefined ? (forward ? 0 : Number.MAX_SAFE_INTEGER) : offsetOf(from);
  const found: StoredEvent[] = [];
  let scanned = 0;
  let units = 0;
  while (found.length < limit) {
    const wanted = limit - found.length;
    const page = await read(log, () => {
      log.refresh();
      return forward
        ? log.reader.forward(bound, selection, wanted)
        : log.reader.backward(bound, selection, wanted);
    });
    for (const event of page.events) {
      found.push(event);
      units += event.data.length + event.metadata.length;
    }
    // Skipped blocks cost nothing: a step scans at most one window.
    scanned += Math.min(Math.abs(page.scanned - bound), WINDOW);
    bound = page.scanned;
    if (page.atEnd) return { events: found, scanned, next: undefined, position: formatPosition(bound) };
    if (scanned >= most.scanned || units >= most.units) break;
    await nextTick();
  }
  const position = formatPosition(bound);
  return { events: found, scanned, next: position, position };
}

/** @throws {StoreUnavailable} when the store is closed or the file cannot be read */
function read<T>(log: LiveLog, step: () => T): Promise<T> {
  const action = (): T => {
    ensureOpen(log.closed);
    return step();
  };
  return retrying(action, (error) => unavailable('event log could not be read', error));
}

function ensureOpen(closed: boolean): void {
  if (closed) throw new StoreUnavailable('the event store is closed');
}
