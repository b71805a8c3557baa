/** Counts of messages since the server started. */
export interface Counts {
  /** Opened append streams, appends on them, and their events. */
  batchStreams: number;
  appends: number;
  appended: number;
  /** Groups of appends that arrived together, in one tick of the event loop. */
  groups: number;
  /** Appends that were answered `Timeout` because an identical one was pending. */
  twins: number;
  /** Maximum of concurrent appends waiting for their commit. */
  peakAppends: number;
  /** Events sent to readers of `$all`, to readers of a stream, and to subscribers. */
  readOfAll: number;
  readOfStreams: number;
  subscribed: number;
  reads: number;
  subscriptions: number;
  openSubscriptions: number;
  /** Subscriptions dropped because they were too slow. */
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
