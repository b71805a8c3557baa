import type { EventDefinition } from '../../domain/event.ts';
import { metadataSchema } from '../codec.ts';
import {
  type EventFilter,
  type EventStore,
  type LineOptions,
  type LinePage,
  type Position,
  type ScanPage,
  type StoredEvent,
  StoreUnavailable,
} from '../ports/event-store.ts';
import type { KeyRing } from '../sealing.ts';
import { parseStreamName, tenantPrefix } from '../streams.ts';
import { ExportLines } from './export-lines.ts';
import { type PlainMetadata, plainMetadata } from './metadata-text.ts';
import { type OpenedEvent, OpenedViews } from './opened-views.ts';

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
/** UTF-16 units of stored text whose lines are made at once. */
const GROUP_UNITS = 256 * 1024;
/** Events in a piece of a streamed export. */
const PIECE = 512;

/** A tenant's events in the order of the log, for auditors. */
export class Replay {
  readonly #events: EventStore;
  readonly #views: OpenedViews;
  readonly #lines: ExportLines;
  readonly #stopping = new AbortController();

  constructor(deps: {
    readonly events: EventStore;
    readonly catalogue: readonly EventDefinition[];
    readonly keys: KeyRing;
  }) {
    const { events, catalogue, keys } = deps;
    this.#events = events;
    this.#views = new OpenedViews(catalogue, keys);
    this.#lines = new ExportLines(catalogue, keys);
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
   * An export of all that is in the log now, as lines in UTF-8 (docs/audit-format.md), piece by piece and no faster than it
   * is pulled. Memory use is one piece, and the pages that the store makes ahead: what a piece is in is used again once the
   * next one is pulled.
   * @throws {StoreUnavailable} when the process stops before the end: what was pulled is not the whole then
   */
  async *export(tenantId: string, query: ReplayQuery): AsyncGenerator<Uint8Array, void, void> {
    const filter = filterOf(tenantId, query);
    const end = await this.#events.head();
    if (filter === undefined || end === undefined || (query.after ?? '') >= end) return;
    if (this.#events.lines !== undefined && isOfFilter(query)) {
      const { members } = this.#lines;
      const options = { after: query.after, until: end, filter, members };
      yield* this.#exportLines(tenantId, this.#events.lines(options), options);
      return;
    }
    const ended = new AbortController();
    const signal = AbortSignal.any([ended.signal, this.#stopping.signal]);
    try {
      const pieces =
        query.stream === undefined
          ? // The one read that every store filters where the events are.
            this.#events.subscribe({ after: query.after, filter, batchSize: PIECE, signal })
          : this.#wholeStream(query.stream, query.after);
      for await (const { events, position } of pieces) {
        const wanted = events.filter((event) => event.position <= end && selects(query, event));
        for (const group of groupsOf(wanted)) yield await this.#lines.of(group, tenantPrefix(tenantId));
        if (position === undefined || position >= end) return;
        if (signal.aborted) break;
      }
      throw new StoreUnavailable('the export was cut off');
    } finally {
      ended.abort();
    }
  }

  /** Of a store that makes lines; what needs a closer look is read as events. */
  async *#exportLines(
    tenantId: string,
    pages: AsyncIterable<LinePage>,
    { after, until, filter }: LineOptions,
  ): AsyncGenerator<Uint8Array, void, void> {
    const prefix = tenantPrefix(tenantId);
    let from = after;
    for await (const page of pages) {
      if (page.lines === undefined) yield* this.#pageOfEvents(tenantId, from, filter, page.events);
      else if (page.events > 0) {
        yield await this.#lines.opened(page.lines, page, prefix);
      }
      if (page.position >= until) return;
      if (this.#stopping.signal.aborted) break;
      from = page.position;
    }
    throw new StoreUnavailable('the export was cut off');
  }

  async *#pageOfEvents(tenantId: string, after: Position | undefined, filter: EventFilter, count: number) {
    let from = after;
    for (let left = count; left > 0; ) {
      // As much as one step takes: so many of the largest events would fill the memory.
      const { events, next } = await this.#events.scanAll({ from, filter, limit: left }, 1);
      for (const group of groupsOf(events)) yield await this.#lines.of(group, tenantPrefix(tenantId));
      left -= events.length;
      if (next === undefined && left > 0) throw new StoreUnavailable('events of the log are missing');
      from = next;
    }
  }

  async *#wholeStream(stream: string, after: Position | undefined) {
    let from = after;
    for (;;) {
      const { events, next } = await this.#pageOfStream(stream, from, PIECE);
      yield { events, position: next };
      from = next;
    }
  }

  async #pageOfStream(stream: string, after: Position | undefined, limit: number): Promise<ScanPage> {
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

/** So that what is ready and waits for a slow reader stays small, however large events are. */
const groupsOf = function* (events: readonly StoredEvent[]): Generator<readonly StoredEvent[]> {
  let from = 0;
  let units = 0;
  for (const [index, { data, metadata }] of events.entries()) {
    units += data.length + metadata.length;
    if (units < GROUP_UNITS && index < events.length - 1) continue;
    yield events.slice(from, index + 1);
    from = index + 1;
    units = 0;
  }
};

/** Whether what the store's filter selects is all that is asked for. */
const isOfFilter = ({ stream, category, actor, from, to }: ReplayQuery): boolean =>
  stream === undefined &&
  category === undefined &&
  actor === undefined &&
  from === undefined &&
  to === undefined;

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
  const { actor: who, occurredAt: at } =
    plainMetadata(event.metadata, JSON.stringify(event.metadata)) ?? parsed(event.metadata) ?? {};
  if (who === undefined || at === undefined) return false;
  return (
    (actor === undefined || who === actor) &&
    (from === undefined || at >= from) &&
    (to === undefined || at < to)
  );
};

const parsed = (text: string): PlainMetadata | undefined => {
  try {
    const metadata = metadataSchema.safeParse(JSON.parse(text));
    if (!metadata.success) return undefined;
    return { actor: metadata.data.actor.id, occurredAt: metadata.data.occurred_at };
  } catch {
    return undefined;
  }
};
