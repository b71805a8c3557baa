import { setImmediate } from 'node:timers/promises';
import type { EventDefinition } from '../../domain/core/event.ts';
import { metadataSchema } from '../core/events/event-codec.ts';
import { parseStreamName, tenantPrefix } from '../core/events/stream-name.ts';
import type { KeyRing } from '../core/privacy/key-ring.ts';
import {
  type EventFilter,
  type EventStore,
  type Position,
  type StoredEvent,
  StoreUnavailable,
} from '../ports/event-store.ts';
import { exportLine } from './line.ts';
import { type OpenedEvent, OpenedViews, objectOf } from './opened-views.ts';

/** Which events of a tenant (decisions, section 11). What is unknown selects nothing. */
export interface ReplayQuery {
  readonly stream?: string | undefined;
  readonly category?: string | undefined;
  readonly type?: string | undefined;
  /** Id of an actor. */
  readonly actor?: string | undefined;
  /** Instants (RFC 3339, UTC, milliseconds), `[from, to)`. */
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  /** Events after it. */
  readonly after?: Position | undefined;
}

export interface ReplayPage {
  readonly events: readonly OpenedEvent[];
  /** Where the next page begins (`after`); undefined at the end of the log. */
  readonly next: Position | undefined;
}

/** What one page may look at: beyond it, it answers what it found and where to go on. */
const MAX_SCANNED = 50_000;
/** Stored text (UTF-16 units) of one piece of an export: its lines are made in one tick. */
const PIECE_UNITS = 128 * 1024;
/** Events read at once for an export: at most so many, and about so much stored text (UTF-16 units). */
const PAGE = 512;
const FIRST_PAGE = 32;
const PAGE_UNITS = 256 * 1024;

/** A tenant's events in the order of the log, for auditors. */
export class Replay {
  readonly #events: EventStore;
  readonly #views: OpenedViews;
  readonly #stopping = new AbortController();

  constructor(deps: {
    readonly events: EventStore;
    readonly catalogue: readonly EventDefinition[];
    readonly keys: KeyRing;
  }) {
    const { events, catalogue, keys } = deps;
    this.#events = events;
    this.#views = new OpenedViews(catalogue, keys);
  }

  /** Aborted when the process is about to go. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Ends streams under way, as incomplete ones. */
  stop(): void {
    this.#stopping.abort();
  }

  /** A page may hold less than `limit`, or nothing, and still have a next one. */
  async page(tenantId: string, query: ReplayQuery, limit: number): Promise<ReplayPage> {
    const filter = filterOf(tenantId, query);
    if (filter === undefined) return { events: [], next: undefined };
    const found: StoredEvent[] = [];
    let next = query.after;
    for (let scanned = 0; scanned < MAX_SCANNED; ) {
      const wanted = limit - found.length;
      const page =
        query.stream === undefined
          ? await this.#events.scanAll({ from: next, filter, limit: wanted }, MAX_SCANNED - scanned)
          : await this.#pageOfStream(query.stream, next, wanted);
      // Each step counts, whatever it passed over.
      scanned += Math.max(1, page.scanned);
      for (const event of page.events) if (selects(query, event)) found.push(event);
      next = page.next;
      if (next === undefined || found.length >= limit) break;
    }
    return { events: await this.#views.open(found), next };
  }

  /**
   * Exports all events that are in the log now as lines in UTF-8 (docs/audit-format.md), no faster than they are pulled.
   * Memory use is one page of events and one piece of lines.
   * @throws {StoreUnavailable} when the process stops before the end: the pieces pulled so far are not the whole
   */
  async *export(tenantId: string, query: ReplayQuery): AsyncGenerator<Uint8Array, void, void> {
    const filter = filterOf(tenantId, query);
    const end = await this.#events.head();
    if (filter === undefined || end === undefined || (query.after ?? '') >= end) return;
    let from = query.after;
    let limit = FIRST_PAGE;
    while (!this.stopping.aborted) {
      const { events, next } =
        query.stream === undefined
          ? await this.#events.scanAll({ from, filter, limit }, MAX_SCANNED)
          : await this.#pageOfStream(query.stream, from, limit);
      const wanted = events.filter((event) => event.position <= end && selects(query, event));
      for (const piece of piecesOf(wanted)) {
        const opened = await this.#views.open(piece);
        yield Buffer.from(opened.map(exportLine).join(''));
        // Requests are served between two pieces.
        await setImmediate();
      }
      if (next === undefined || next >= end) return;
      from = next;
      limit = nextLimit(events);
    }
    throw new StoreUnavailable('the export was cut off');
  }

  async #pageOfStream(stream: string, after: Position | undefined, limit: number) {
    const from = after === undefined ? 0 : await this.#firstRevisionAfter(stream, after);
    const events = await this.#events.readStream(stream, { from, limit });
    const next = events.length < limit ? undefined : events.at(-1)?.position;
    return { events, scanned: events.length, next };
  }

  /** Positions of a stream grow with its revisions, so a few looks find the place. */
  async #firstRevisionAfter(stream: string, after: Position): Promise<number> {
    const [last] = await this.#events.readStream(stream, { direction: 'backward', limit: 1 });
    let [low, high] = [0, (last?.revision ?? -1) + 1];
    while (low < high) {
      const middle = Math.floor((low + high) / 2);
      const [event] = await this.#events.readStream(stream, { from: middle, limit: 1 });
      if (event !== undefined && event.position <= after) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** As many events of the size of the last ones as a page should hold, so that a page of large events stays small. */
const nextLimit = (last: readonly StoredEvent[]): number => {
  const units = last.reduce((sum, { data, metadata }) => sum + data.length + metadata.length, 0);
  if (units === 0) return PAGE;
  return Math.max(1, Math.min(PAGE, Math.floor((PAGE_UNITS * last.length) / units)));
};

/** Parts of a page, so that a piece stays small however large its events are. */
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

/** Undefined when nothing can match. */
const filterOf = (tenantId: string, { stream, category, type }: ReplayQuery): EventFilter | undefined => {
  const prefix = tenantPrefix(tenantId);
  if (stream !== undefined && !stream.startsWith(prefix)) return undefined;
  // A type or category that is empty is unknown, and must not select everything.
  if (stream === prefix || type === '' || category === '') return undefined;
  return {
    streamPrefix: stream ?? (category === undefined ? prefix : `${prefix}${category}-`),
    ...(type === undefined ? {} : { types: [type] }),
  };
};

const selects = ({ stream, category, type, actor, from, to }: ReplayQuery, event: StoredEvent): boolean => {
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
