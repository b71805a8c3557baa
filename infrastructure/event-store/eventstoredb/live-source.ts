import { ErrorType, excludeSystemEvents, START } from '@eventstore/db-client';
import { concat, defer, Observable, of, retry, tap, timer } from 'rxjs';
import type { LogGrowth, Position, StoredEvent } from '../../../application/ports/event-store.ts';
import type { Logger } from '../../../application/ports/logger.ts';
import { formatPosition } from '../positions.ts';
import { decodeEvent, isSystem, logPosition } from './codec.ts';
import { type Connection, onceEnded } from './connection.ts';

interface LiveSourceDeps {
  readonly connection: Connection;
  /** Position of the log's newest event, ignoring events of the server itself. */
  readonly end: () => Promise<Position | undefined>;
  /** Events after a position; fewer than `limit` at the end of the log. */
  readonly page: (after: Position, limit: number) => Promise<readonly StoredEvent[]>;
  readonly logger?: Logger | undefined;
  /**
   * Pause (ms) after a lost connection. Each further failure doubles the pause, up to {@link LONGEST} times `retryMs`.
   * Each pause is shortened at random by up to half. Default 100.
   */
  readonly retryMs?: number | undefined;
}

const LONGEST = 50;
/** Events per page of the gap between two subscriptions, and the maximum of pages that are emitted. */
const PAGE = 1000;
const PAGES = 16;

/**
 * Emits new events, each once: from one live subscription, and from pages of the gap between two subscriptions. The
 * server drops a subscription whose buffer of 32 events overflows; that is normal under load, so the source
 * resubscribes at once. A lost connection is logged once, and retried with growing pauses. At the start and after a
 * large gap the source emits undefined, and followers read the log themselves.
 */
export const liveSource = (deps: LiveSourceDeps): Observable<LogGrowth | undefined> => {
  const { connection, end, page, logger, retryMs = 100 } = deps;
  return defer(() => {
    /** Events after this position are emitted next; undefined before the first subscription. */
    let lastPosition: Position | undefined;
    let failures = 0;
    const missed = async function* (): AsyncGenerator<LogGrowth | undefined> {
      for (let pages = 0; lastPosition !== undefined && pages < PAGES; pages += 1) {
        const events = await page(lastPosition, PAGE);
        if (events.length > 0) yield { after: lastPosition, events };
        if (events.length < PAGE) return;
      }
      lastPosition = (await end()) ?? formatPosition(0);
      yield undefined;
    };
    const connected = (): void => {
      if (failures > 0) logger?.info({}, 'the live subscription has reconnected');
      failures = 0;
    };
    const pauseAfter = (error: unknown): Observable<unknown> => {
      if (isTooSlow(error)) return of(true);
      if (failures === 0) logger?.warn({ err: error }, 'the live subscription lost its connection');
      failures += 1;
      return timer(Math.min(2 ** (failures - 1), LONGEST) * retryMs * (0.5 + Math.random() / 2));
    };
    const subscribed = defer(() => newEvents(connection, lastPosition ?? formatPosition(0), connected));
    return concat(defer(missed), subscribed).pipe(
      tap((growth) => {
        lastPosition = growth?.events.at(-1)?.position ?? lastPosition;
      }),
      retry({ delay: pauseAfter }),
    );
  });
};

/** Emits events after `end`; fails when the subscription ends for any reason. */
const newEvents = (connection: Connection, end: Position, onConnected: () => void): Observable<LogGrowth> =>
  new Observable((observer) => {
    const from = logPosition(end);
    const source = connection.subscribe(from.commit > 0n ? from : START, excludeSystemEvents());
    let after = end;
    const readable = (): void => {
      const events: StoredEvent[] = [];
      try {
        for (let next = source.read(); next !== null; next = source.read()) {
          if (next.event !== undefined && !isSystem(next.event)) events.push(decodeEvent(next.event));
        }
      } catch (error) {
        observer.error(error);
        return;
      }
      const last = events.at(-1);
      if (last === undefined) return;
      onConnected();
      observer.next({ after, events });
      after = last.position;
    };
    // Attached before any await: an `error` event without a listener ends the process.
    onceEnded(source, (reason) => observer.error(reason));
    source.on('confirmation', onConnected);
    source.on('readable', readable);
    return () => {
      source.unsubscribe().catch(() => undefined);
    };
  });

/** Whether the server dropped a slow consumer (gRPC ABORTED); the client reports it as a timeout. */
const isTooSlow = (error: unknown): boolean =>
  error instanceof Error &&
  (/consumer too slow/i.test(error.message) || ('type' in error && error.type === ErrorType.TIMEOUT));
