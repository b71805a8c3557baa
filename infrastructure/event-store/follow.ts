import type { EventBatch, StoredEvent, SubscribeOptions } from '../../application/ports/event-store.ts';
import type { Logger } from '../../application/ports/logger.ts';
import { type Selection, select } from './filters.ts';
import { formatPosition, offsetOf } from './positions.ts';
import { nextTurn, pause, type Wakeup } from './wakeup.ts';

/** A piece of an embedded log: what matched after an offset, and how far the scan came. */
export interface Page {
  readonly events: readonly StoredEvent[];
  /** Everything up to here (inclusive) was looked at. */
  readonly scanned: number;
  /** The scan reached the end of the log as it was at that moment. */
  readonly atEnd: boolean;
}

/** An embedded log as a subscription sees it. Offsets are exclusive starts; 0 is before the first event. */
export interface Log {
  readonly closed: boolean;
  readonly growth: Wakeup;
  /** One short, synchronous step; may look at less than there is. */
  scan(after: number, selection: Selection | undefined, limit: number): Page;
  /**
   * Tells the log that somebody watches, and how far that one has come, so that it looks for other processes' writes;
   * returns the way out.
   */
  watch(reached: () => number): () => void;
}

const RETRY_MS = 250;
const DEFAULT_BATCH = 512;

/**
 * Catch-up and live reading of an embedded log in one loop: there is no hand-over between two sources where an
 * event could be lost or seen twice, only one offset that goes on. Memory use is one page, however slow the
 * consumer is.
 */
export async function* follow(
  log: Log,
  options: SubscribeOptions,
  logger?: Logger,
): AsyncGenerator<EventBatch, void, void> {
  const { signal, batchSize = DEFAULT_BATCH } = options;
  const selection = select(options.filter);
  let after = options.after === undefined ? 0 : offsetOf(options.after);
  let toldEnd = false;
  const unwatch = log.watch(() => after);
  const sleeper = log.growth.enter(signal);
  try {
    while (!signal.aborted && !log.closed) {
      // The scan is synchronous, so nothing can be appended between it and the wait below.
      const page = tryScan(log, after, selection, batchSize, logger);
      if (page === undefined) {
        await pause(RETRY_MS, signal);
      } else if (page.scanned > after || (page.atEnd && !toldEnd)) {
        after = page.scanned;
        toldEnd = page.atEnd;
        yield { events: page.events, position: formatPosition(after), caughtUp: page.atEnd };
        if (!page.atEnd) await nextTurn();
      } else {
        await sleeper.sleep();
      }
    }
  } finally {
    sleeper.leave();
    unwatch();
  }
}

/** A failed read does not end a subscription: it is logged and tried again. */
function tryScan(
  log: Log,
  after: number,
  selection: Selection | undefined,
  limit: number,
  logger: Logger | undefined,
): Page | undefined {
  try {
    return log.scan(after, selection, limit);
  } catch (error) {
    if (!log.closed) logger?.warn({ err: error, after }, 'subscription could not read the event log');
    return undefined;
  }
}
