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
  /** Forward: up to here (inclusive) everything was looked at. Before the first event where the log is empty. */
  readonly position: Position;
}

/** Events that were just appended, in the order of the log. */
export interface LogGrowth {
  /** No event lies between this position and the first of `events`. */
  readonly after: Position;
  /** At least one. */
  readonly events: readonly StoredEvent[];
}

/** Told each time that the log has grown; without `growth` the new events are to be read. */
export type GrowthListener = (growth?: LogGrowth) => void;

/** One append. */
export interface StreamAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
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
   * Wakes a follower of the log after each growth, whoever appended; answers the way to stop that. A store that has the
   * new events at hand passes them on; any call may leave them out, and growth may be told late, but is always told.
   */
  onGrowth(listener: GrowthListener): () => void;
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

export class EventTooLarge extends Error {
  override readonly name = 'EventTooLarge';
}

/** A store (event, read, key or answer store) cannot be reached; the API answers 503 `unavailable`. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
