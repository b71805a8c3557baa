/** A read in progress. An error listener must be attached at once: without one an error ends the process. */
export interface ReadSource<E> extends AsyncIterable<E> {
  on(event: 'error', listener: (error: Error) => void): unknown;
  cancel(): Promise<void>;
}

export interface ReadRange<From> {
  readonly from: From;
  readonly backward: boolean;
  readonly maxCount: number;
}

/** What a read selects: by prefixes of stream names, or by prefixes of event types. */
export interface ReadFilter {
  readonly on: 'stream' | 'type';
  readonly prefixes: readonly string[];
}
