/** A place in the log: opaque, greater as text for each later event. There may be gaps between positions. */
export type Position = string & { readonly __brand: 'Position' };

/** The later of two positions. */
export const latest = (a: Position | undefined, b: Position | undefined): Position | undefined =>
  a === undefined || (b !== undefined && b > a) ? b : a;

/** An event to be stored. `id` is a lower-case UUID; `data` and `metadata` are JSON texts. */
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

/** The place of the last event of an append. */
export interface AppendResult {
  readonly revision: number;
  readonly position: Position;
}

/** Both conditions must hold. An empty or missing condition selects everything. */
export interface EventFilter {
  readonly streamPrefix?: string | undefined;
  readonly types?: readonly string[] | undefined;
}

export interface ReadStreamOptions {
  /** First revision to read (inclusive). Default: 0 forward, the last revision backward. */
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

/** A scanned part of the log, in the requested direction. */
export interface ScanPage {
  readonly events: readonly StoredEvent[];
  /** Approximate number of events scanned, selected or not. */
  readonly scanned: number;
  /** `from` of the next scan; undefined when the scan reached the end (backward: the start) of the log. */
  readonly next: Position | undefined;
  /** Forward: all events up to this position (inclusive) were scanned. For an empty log: before the first event. */
  readonly position: Position;
}

/** Events just appended, in log order. */
export interface LogGrowth {
  /** No event lies between this position and the first of `events`. */
  readonly after: Position;
  /** At least one. */
  readonly events: readonly StoredEvent[];
}

/** Called after each growth of the log. When `growth` is undefined, the listener must read the new events itself. */
export type GrowthListener = (growth?: LogGrowth) => void;

export interface StreamAppend {
  readonly stream: string;
  readonly expected: ExpectedRevision;
  readonly events: readonly NewEvent[];
}

/**
 * Append-only streams with one global order. `data` and `metadata` are stored byte for byte, since the hash chain
 * (docs/audit-format.md) covers these bytes.
 */
export interface EventStore {
  /**
   * Appends all events or none; resolves when they are on disk. A repeat with the same event ids and the same exact or
   * `no_stream` expectation succeeds without a second write.
   * @throws {WrongExpectedRevision} when the stream is at another revision
   * @throws {EventTooLarge} for an event beyond {@link MAX_EVENT_BYTES}, or an append larger than the store accepts
   * @throws {StoreUnavailable} when the store does not answer in time; the append may have happened
   */
  append(stream: string, expected: ExpectedRevision, events: readonly NewEvent[]): Promise<AppendResult>;
  /** Events of one stream; empty for an unknown stream. */
  readStream(stream: string, options?: ReadStreamOptions): Promise<StoredEvent[]>;
  /**
   * The first events of several streams, at most `limit` each, in the order of `streams`; empty for an unknown stream.
   * The streams are not read at one moment: of two writes during the call, the result may have only the later one.
   * @param enough characters of data and metadata after which no further stream is read; the result is then shorter
   * than `streams`, but has at least the first stream
   */
  readStreams(
    streams: readonly string[],
    limit: number,
    enough?: number,
  ): Promise<(readonly StoredEvent[])[]>;
  readAll(options?: ReadAllOptions): Promise<StoredEvent[]>;
  /**
   * Like {@link readAll}, with bounded work: ends after `limit` selected events, about 8 million characters of them or
   * about `maxScanned` scanned events, and returns where to continue. Each call makes progress, however small
   * `maxScanned` is.
   */
  scanAll(options: ReadAllOptions, maxScanned: number): Promise<ScanPage>;
  /**
   * Calls `listener` after each growth of the log by any process, and returns a function that stops the calls. New
   * events are passed if the store has them in memory. A call may come late or twice, but is never left out.
   */
  onGrowth(listener: GrowthListener): () => void;
  /** Looks for new events at once. Only stores that poll have this method. */
  wake?(): void;
  /** Position of the last event, undefined while the log is empty. */
  end(): Promise<Position | undefined>;
  /** Parses an external position; undefined when malformed. */
  parsePosition(text: string): Position | undefined;
  close(): Promise<void>;
}

/** Most bytes of an event (data and metadata together, UTF-8) on every adapter. */
export const MAX_EVENT_BYTES = 512 * 1024;

export class WrongExpectedRevision extends Error {
  override readonly name = 'WrongExpectedRevision';
  readonly stream: string;
  readonly expected: ExpectedRevision;
  /** The stream's last revision; undefined when the stream has no events or the store did not return the revision. */
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

/** A store does not answer, or a limit or the end of the process cut work off; the API answers 503 `unavailable`. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}
