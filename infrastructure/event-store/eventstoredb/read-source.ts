/** A read in progress. Attach an error listener at once, since an `error` event without a listener ends the process. */
export interface ReadSource<E> extends AsyncIterable<E> {
  on(event: 'error', listener: (error: Error) => void): unknown;
  cancel(): Promise<void>;
}

export interface ReadRange<From> {
  readonly from: From;
  readonly backward: boolean;
  readonly maxCount: number;
}

/** Selects events by prefixes of stream names or of event types. */
export interface ReadFilter {
  readonly on: 'stream' | 'type';
  readonly prefixes: readonly string[];
}
