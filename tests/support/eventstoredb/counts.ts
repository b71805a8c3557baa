/** What crossed the wire since the server started. */
export interface Counts {
  /** Streams of appends that were opened, appends on them, and the events in these. */
  batchStreams: number;
  appends: number;
  appended: number;
  /** Groups of appends that arrived together, in one tick of the event loop. */
  groups: number;
  /** Appends that met a twin in flight and were answered `Timeout`. */
  twins: number;
  /** Most appends that waited for their commit at the same time. */
  peakAppends: number;
  /** Events sent to readers of `$all`, to readers of a stream, and to subscribers. */
  readOfAll: number;
  readOfStreams: number;
  subscribed: number;
  reads: number;
  subscriptions: number;
  openSubscriptions: number;
  /** Subscriptions that were dropped because they were too slow. */
  drops: number;
}

export const noCounts = (): Counts => ({
  batchStreams: 0,
  appends: 0,
  appended: 0,
  groups: 0,
  twins: 0,
  peakAppends: 0,
  readOfAll: 0,
  readOfStreams: 0,
  subscribed: 0,
  reads: 0,
  subscriptions: 0,
  openSubscriptions: 0,
  drops: 0,
});
