/**
 * The event store port: append-only streams with one global order.
 *
 * The port speaks in texts: `data` and `metadata` are kept byte for byte as they were given, because the hash
 * chain (docs/audit-format.md) is over exactly these bytes.
 */

/** A place in the global order. Opaque; compares as text in log order; increasing, not necessarily dense. */
export type Position = string & { readonly __brand: 'Position' };

/** An event as it will be stored. `id` is a lower-case UUID; `data` and `metadata` are JSON texts. */
export interface NewEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
  readonly metadata: string;
}

export interface StoredEvent extends NewEvent {
  readonly stream: string;
  /** 0 for the first event of a stream, then +1 for each. */
  readonly revision: number;
  readonly position: Position;
}

/** An exact last revision, `no_stream` (the stream must not exist), or `any`. */
export type ExpectedRevision = number | 'no_stream' | 'any';

export interface AppendResult {
  /** Revision and position of the last event of the append. */
  readonly revision: number;
  readonly position: Position;
}

/** Both conditions must hold. An empty or missing one selects everything. */
export interface EventFilter {
  readonly streamPrefix?: string | undefined;
  readonly types?: readonly string[] | undefined;
}

export interface ReadStreamOptions {
  /** First revision to read (inclusive). Default: 0 forward, the last one backward. */
  readonly from?: number | undefined;
  readonly direction?: 'forward' | 'backward' | undefined;
  /** Default 1,000. */
  readonly limit?: number | undefined;
}

export interface ReadAllOptions {
  /** Exclusive bound. Forward: events after it (default: from the start). Backward: events before it. */
  readonly from?: Position | undefined;
  readonly direction?: 'forward' | 'backward' | undefined;
  /** Default 1,000. */
  readonly limit?: number | undefined;
  readonly filter?: EventFilter | undefined;
}

/** A part of the log that was looked through, in the direction that was asked for. */
export interface ScanPage {
  readonly events: readonly StoredEvent[];
  /** About how many events were looked at, chosen or not. */
  readonly scanned: number;
  /** Where the next scan begins (`from`); undefined when the log was seen to its end. */
  readonly next: Position | undefined;
}

/** What a subscription yields. `position` is how far the log was scanned, also when nothing matched. */
export interface EventBatch {
  readonly events: readonly StoredEvent[];
  readonly position: Position;
  /** True when the scan had reached the end of the log as this batch was made. */
  readonly caughtUp: boolean;
}

export interface SubscribeOptions {
  /** Exclusive start; undefined: from the first event. */
  readonly after?: Position | undefined;
  readonly filter?: EventFilter | undefined;
  /** At most this many events in a batch (default 512). */
  readonly batchSize?: number | undefined;
  /** Ends the iteration when aborted. */
  readonly signal: AbortSignal;
}

/** One of several appends. */
export interface StreamAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
}

/** Which events {@link EventStore.lines} reads. */
export interface LineOptions {
  /** Exclusive; undefined: from the first event. */
  readonly after: Position | undefined;
  /** Inclusive; the log has got that far. */
  readonly until: Position;
  readonly filter: EventFilter;
  /** Members of the data whose texts are looked for. */
  readonly members: readonly TypeMember[];
}

export interface TypeMember {
  readonly type: string;
  readonly name: string;
}

/**
 * The next events of a log as lines (application/ports/lines/stored-lines.ts). What they are in is the puller's to write
 * to, and used again once the next page is pulled.
 */
export interface LinePage {
  /** Undefined where some event needs a closer look. */
  readonly lines: Uint8Array | undefined;
  /** The texts that were looked for, to be read by `LineTexts`. */
  readonly texts: Uint32Array;
  /** `<tenant>/message-<page>`, each once. */
  readonly keyPages: readonly string[];
  /** How many there are. */
  readonly events: number;
  /** Everything up to here was looked at. */
  readonly position: Position;
}

export interface EventStore {
  /**
   * Appends all events or none; resolves when they are on disk. The same event ids with the same original exact
   * or `no_stream` expectation are acknowledged again without a second write.
   * @throws {WrongExpectedRevision} when the stream is elsewhere
   * @throws {EventTooLarge} beyond {@link MAX_EVENT_BYTES} for one event
   * @throws {StoreUnavailable} when the store cannot be reached in time; the append may or may not have happened
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult>;
  /**
   * Several appends, each by itself as with {@link append}, where the store has a cheaper way for that: one answer for
   * each, in their order. {@link appendEach} is for whatever store there is.
   * @throws {EventTooLarge} for any of them, before anything is written
   * @throws {StoreUnavailable} any of them may or may not have happened
   */
  appendAll?(appends: readonly StreamAppend[]): Promise<readonly AppendOutcome[]>;
  /** Events of one stream; empty for an unknown stream. */
  readStream(stream: string, options?: ReadStreamOptions): Promise<StoredEvent[]>;
  /**
   * The first events of several streams, `limit` of each at most, in the order they were asked for; empty for an unknown
   * stream. What another process writes meanwhile may be in some of them.
   * @param enough characters of data and metadata after which no further stream is read: the answer is shorter then than
   * the question, by the last ones. The first stream is always read.
   */
  readStreams(
    streams: readonly string[],
    limit: number,
    enough?: number,
  ): Promise<(readonly StoredEvent[])[]>;
  readAll(options?: ReadAllOptions): Promise<StoredEvent[]>;
  /**
   * As {@link readAll}, with bounded work: ends when `limit` events are found or about `maxScanned` were looked at,
   * and says where to go on. Each call gets on by at least one step, whatever the bound.
   */
  scanAll(options: ReadAllOptions, maxScanned: number): Promise<ScanPage>;
  /**
   * Catch-up, then live, in global order with no gap and no duplicate, for as long as it is pulled. A lost
   * connection is taken up again inside (the iteration goes on); only an abort ends it.
   */
  subscribe(options: SubscribeOptions): AsyncIterable<EventBatch>;
  /**
   * What is selected, page by page up to `until`, in bounded memory and no faster than it is pulled: for stores that give
   * lines for a fraction of what reading the events costs.
   * @throws {StoreUnavailable}
   */
  lines?(options: LineOptions): AsyncIterable<LinePage>;
  /** Looks at once for what others have written, where the store would otherwise find it by polling. */
  wake?(): void;
  /** Position of the last event, undefined while the log is empty. */
  head(): Promise<Position | undefined>;
  /** Parses a position that came from outside; undefined when malformed. */
  parsePosition(text: string): Position | undefined;
  close(): Promise<void>;
}

/** An event (data and metadata together, in UTF-8) is at most this large on every adapter. */
export const MAX_EVENT_BYTES = 512 * 1024;

export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision';
  readonly stream: string;
  readonly expected: ExpectedRevision;
  /** The stream's last revision; undefined when it does not exist or the store did not say. */
  readonly actual: number | undefined;
  constructor(stream: string, expected: ExpectedRevision, actual: number | undefined) {
    super(`expected revision ${expected} of ${stream}, found ${actual ?? 'none'}`);
    this.stream = stream;
    this.expected = expected;
    this.actual = actual;
  }
}

/** What became of one of several appends. */
export type AppendOutcome = AppendResult | WrongExpectedRevision;

/** @throws as {@link EventStore.appendAll} */
export const appendEach = async (
  events: EventStore,
  appends: readonly StreamAppend[],
): Promise<readonly AppendOutcome[]> => {
  if (events.appendAll !== undefined) return events.appendAll(appends);
  const results = await Promise.allSettled(
    appends.map(({ stream, expected, events: news }) => events.append(stream, expected, news)),
  );
  return results.map((result) => {
    if (result.status === 'fulfilled') return result.value;
    if (result.reason instanceof WrongExpectedRevision) return result.reason;
    throw result.reason;
  });
};

export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

/** A store (event, read, key or answer store) cannot be reached; the API answers 503 `unavailable`. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
