import type { EventDefinition } from '../../domain/core/event.ts';
import { timeSlices } from '../core/concurrency/time-slices.ts';
import { metadataSchema } from '../core/events/event-codec.ts';
import { parseStreamName, tenantPrefix } from '../core/events/stream-name.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import {
  type EventFilter,
  type EventStore,
  type Position,
  type ReadAllOptions,
  type StoredEvent,
  StoreUnavailable,
} from '../ports/event-store.ts';
import { exportLine, type OpenedEvent, OpenedViews, objectOf } from './opened-views.ts';

/** Selects events of a tenant (decisions, section 11). Unknown values select nothing. */
interface ExportQuery {
  readonly stream?: string | undefined;
  readonly category?: string | undefined;
  readonly type?: string | undefined;
  /** Id of the actor. */
  readonly actor?: string | undefined;
  /** Instants (RFC 3339, UTC, milliseconds), `[from, to)`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Events after this position. */
  readonly after?: Position | undefined;
}

interface ExportPage {
  readonly events: readonly OpenedEvent[];
  /** `after` of the next page; undefined at the end of the log. */
  readonly next: Position | undefined;
}

/** Most events scanned per page; the page then ends with the events found so far and a `next` position. */
const MAX_SCANNED = 50_000;
/** Approximate UTF-16 units of stored text per piece of an export; a piece is made in one tick. */
const PIECE_UNITS = 64 * 1024;
/** Limits of one read: most events, most events of the first read, and approximate UTF-16 units of stored text. */
const PAGE = 512;
const FIRST_PAGE = 8;
const PAGE_UNITS = 256 * 1024;
/** A read has at most this many times the events of the previous read (if any): the next events may be larger. */
const GROWTH = 4;
/** UTF-16 units of stored text at which a page of the list ends. */
const MAX_UNITS = 512 * 1024;

/** Reads a tenant's events in log order, for auditors. */
export class EventExport extends WithDeps<{
  readonly events: EventStore;
  readonly catalogue: readonly EventDefinition[];
  readonly keys: KeyRing;
}> {
  readonly #views = new OpenedViews(this.deps);
  readonly #stopping = new AbortController();

  /** Aborted when the process stops. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Ends running exports; a receiver detects that its export is incomplete. */
  stop(): void {
    this.#stopping.abort();
  }

  /** A page may have fewer than `limit` events, even none, and still have a next page. It ends after about 1 MiB. */
  async page(tenantId: string, query: ExportQuery, limit: number): Promise<ExportPage> {
    const filter = filterOf(tenantId, query);
    if (filter === undefined) return { events: [], next: undefined };
    const found: StoredEvent[] = [];
    let next = query.after;
    let units = 0;
    let most = FIRST_PAGE;
    for (let scanned = 0; scanned < MAX_SCANNED; ) {
      const wanted = Math.min(most, limit - found.length);
      const page = await this.#page(
        query.stream,
        { from: next, filter, limit: wanted },
        MAX_SCANNED - scanned,
      );
      // Counts at least one per read, so that the loop ends.
      scanned += Math.max(1, page.scanned);
      const selected = page.events.filter((event) => selects(query, event));
      found.push(...selected);
      units += unitsOf(selected);
      most = nextLimit(page.events);
      next = page.next;
      if (next === undefined || found.length >= limit || units > MAX_UNITS) break;
    }
    return { events: await this.#views.open(found), next };
  }

  /**
   * Yields the selected events up to the present end of the log, as lines in UTF-8 (docs/audit-format.md), as fast as
   * the caller consumes them. Holds one page of events and one piece of lines in memory.
   * @throws {StoreUnavailable} when the process stops before the end
   */
  async *export(tenantId: string, query: ExportQuery): AsyncGenerator<Uint8Array, void, void> {
    const filter = filterOf(tenantId, query);
    const end = await this.deps.events.end();
    if (filter === undefined || end === undefined || (query.after ?? '') >= end) return;
    let from = query.after;
    let limit = FIRST_PAGE;
    const slice = timeSlices.of(tenantId, 'exportEvents');
    while (!this.stopping.aborted) {
      await slice.next();
      const { events, next } = await this.#page(query.stream, { from, filter, limit }, MAX_SCANNED);
      const wanted = events.filter((event) => event.position <= end && selects(query, event));
      for (const piece of piecesOf(wanted)) {
        await slice.next();
        const opened = await this.#views.open(piece);
        yield Buffer.from(opened.map(exportLine).join(''));
      }
      if (next === undefined || next >= end) return;
      from = next;
      limit = nextLimit(events);
    }
    throw new StoreUnavailable('the export was cut off');
  }

  /** Events of a stream, or of all streams that the filter selects. */
  async #page(
    stream: string | undefined,
    options: ReadAllOptions & { readonly limit: number },
    mostScanned: number,
  ) {
    if (stream === undefined) return this.deps.events.scanAll(options, mostScanned);
    const { from: after, limit } = options;
    const from = after === undefined ? 0 : await this.#firstRevisionAfter(stream, after);
    const events = await this.deps.events.readStream(stream, { from, limit });
    const next = events.length < limit ? undefined : events.at(-1)?.position;
    return { events, scanned: events.length, next };
  }

  /** Finds the revision by binary search over positions. */
  async #firstRevisionAfter(stream: string, after: Position): Promise<number> {
    const [last] = await this.deps.events.readStream(stream, { direction: 'backward', limit: 1 });
    let [low, high] = [0, (last?.revision ?? -1) + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [event] = await this.deps.events.readStream(stream, { from: middle, limit: 1 });
      if (event !== undefined && event.position <= after) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** Number of events for the next read, from the average size of events in the last read. */
const nextLimit = (last: readonly StoredEvent[]): number => {
  const units = unitsOf(last);
  if (units === 0) return PAGE;
  const fitting = Math.floor((PAGE_UNITS * last.length) / units);
  return Math.max(1, Math.min(PAGE, GROWTH * last.length, fitting));
};

const unitsOf = (events: readonly StoredEvent[]): number =>
  events.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);

/** Splits a page into pieces of bounded size. */
const piecesOf = function* (events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  let from = 0;
  let units = 0;
  for (const [index, { data, metadata }] of events.entries()) {
    units += data.length + metadata.length;
    if (units < PIECE_UNITS && index < events.length - 1) continue;
    yield events.slice(from, index + 1);
    from = index + 1;
    units = 0;
  }
};

/** Undefined when no event can match. */
const filterOf = (tenantId: string, { stream, category, type }: ExportQuery): EventFilter | undefined => {
  const prefix = tenantPrefix(tenantId);
  if (stream !== undefined && !stream.startsWith(prefix)) return undefined;
  // No event has an empty type or category, or a stream name that is only the prefix: the log is not read.
  if (stream === prefix || type === '' || category === '') return undefined;
  return {
    streamPrefix: stream ?? (category === undefined ? prefix : `${prefix}${category}-`),
    ...(type === undefined ? {} : { types: [type] }),
  };
};

const selects = ({ stream, category, type, actor, from, to }: ExportQuery, event: StoredEvent): boolean => {
  if (stream !== undefined && event.stream !== stream) return false;
  if (type !== undefined && event.type !== type) return false;
  if (category !== undefined && parseStreamName(event.stream).category !== category) return false;
  if (actor === undefined && from === undefined && to === undefined) return true;
  const metadata = metadataSchema.safeParse(objectOf(event.metadata));
  if (!metadata.success) return false;
  const { actor: who, occurred_at: at } = metadata.data;
  return (
    (actor === undefined || who.id === actor) &&
    (from === undefined || at >= from) &&
    (to === undefined || at < to)
  );
};
