import type { Position, StoredEvent } from '../../ports/event-store.ts';
import { Fenced, leaseNameOfSubscriber, type ReadStore } from '../../ports/read-store.ts';
import type { BackgroundScheduler, Quantum } from '../concurrency/background-scheduler.ts';
import { isUnavailable, ONE_EVENT, retryConfig } from '../concurrency/retry-policy.ts';
import type { EventCodec, LoggedEvent } from '../events/event-codec.ts';
import { tenantPrefix } from '../events/stream-name.ts';
import { pause, timer } from '../runtime/timers.ts';
import { continueSpan, isTracing } from '../runtime/tracing.ts';
import { audit, catchError, concatMap, defer, lastValueFrom, retry, Subject, throwError } from '../rxjs.ts';
import { holdLease, type LeaseOptions } from './lease.ts';
import type { LogFollower } from './log-follower.ts';
import { type QueueRoom, TenantQueues } from './tenant-queues.ts';

/**
 * Reacts to events by commands, at least once for each event, in the log's order within each tenant. The commands'
 * effects are keyed by the event's id, so that a repeat has no second effect. A long handler calls `quantum.next`
 * between its steps.
 */
export interface Subscriber {
  readonly name: string;
  readonly types: readonly string[];
  /**
   * Called when the subscriber takes its lease and after `handleAll` failed: events may come again. Handlers of other
   * tenants' events may run at that time.
   */
  readonly begin?: () => void;
  readonly handle: (event: LoggedEvent, quantum?: Quantum) => Promise<void>;
  /**
   * Handles several events of one tenant, in log order, in one call instead of {@link handle} for each. After a failure
   * `begin` is called, and the events are handled one by one; after `isUnavailable` errors, together again.
   */
  readonly handleAll?: (events: readonly LoggedEvent[], quantum?: Quantum) => Promise<void>;
  /**
   * Whether an event, which is not decoded for this check, needs no work once all earlier events are handled. Events
   * that are handled together are skipped only if all of them can be skipped.
   */
  readonly skips?: (event: StoredEvent) => boolean;
  /** Like {@link skips}, for all events that are handled together, when the check needs a store. */
  readonly skipsAll?: (events: readonly StoredEvent[]) => Promise<boolean>;
  /** Called once for an event that failed in all its tries; the event is then skipped. */
  readonly onFailure?: (event: { id: string; position: Position }, error: unknown) => Promise<void>;
}

export type SubscriberQueues = Pick<TenantQueues, 'waitingSince' | 'waitingSinceOf' | 'tenantsBehind'>;

export interface SubscriberOptions extends LeaseOptions {
  readonly store: ReadStore;
  readonly follower: LogFollower;
  readonly codec: EventCodec;
  /** Shared by all background work of the process. */
  readonly scheduler: BackgroundScheduler;
  /** Shared by all subscribers of the process. */
  readonly room: QueueRoom;
  /** Called at a subscriber's start. Returns a function that is called at its end. */
  readonly onRunning?: (name: string, queues: SubscriberQueues) => () => void;
}

/** Tries of one event before it is skipped. */
const TRIES = 5;
/** Delay (ms) of storing a checkpoint: after handled events, and after events that did not match. */
const SAVE_MS = 250;
const SAVE_UNMATCHED_MS = 2000;
/** Most events per read of a tenant that is behind. */
const READ_AGAIN = 64;
/** Pause (ms) after a batch without matching events. */
const LINGER_MS = 20;

/**
 * Runs a subscriber under its lease, from its stored progress, until aborted. Handles each tenant's events in order, in
 * quanta of the scheduler (decision 37).
 */
export const runSubscriber = (
  subscriber: Subscriber,
  options: SubscriberOptions,
  signal: AbortSignal,
): Promise<void> =>
  holdLease(leaseNameOfSubscriber(subscriber.name), options, signal, async (lease, held) => {
    const { store, follower, logger } = options;
    const { name, types } = subscriber;
    const before = await store.subscriberProgress(name);
    subscriber.begin?.();
    const queues = new TenantQueues(before, {
      ...options,
      name,
      read: (tenantId, after) =>
        follower.read(after, { streamPrefix: tenantPrefix(tenantId), types }, READ_AGAIN),
      handle: (part, quantum, done) => handlePart(subscriber, options, held, part, quantum, done),
      signal: held,
    });
    const changes = new Subject<{ readonly matched: boolean }>();
    const save = async (): Promise<void> => {
      const { progress } = queues;
      if (progress !== undefined) await store.saveSubscriberProgress(name, lease.fence, progress);
    };
    const saving = changes
      .pipe(
        audit(({ matched }) => timer(matched || queues.isBusy ? SAVE_MS : SAVE_UNMATCHED_MS)),
        // One at a time, so that an earlier progress never overwrites a later one.
        concatMap(() =>
          save().catch((error: unknown) => {
            if (error instanceof Fenced) return;
            logger.warn({ err: error, subscriber: name }, 'a checkpoint could not be saved; retrying');
            // Tries again, since perhaps no further event comes that would trigger a save.
            changes.next({ matched: false });
          }),
        ),
      )
      .subscribe();
    const stopped = options.onRunning?.(name, queues);
    const handled = queues.handled.subscribe(() => changes.next({ matched: true }));
    try {
      const onPassed = (position: Position): boolean => {
        queues.take({ events: [], position, caughtUp: true });
        changes.next({ matched: false });
        return true;
      };
      const following = { after: before?.position, filter: { types }, onPassed, signal: held };
      await follower.run(following, async (batch) => {
        queues.take(batch);
        const matched = batch.events.length > 0;
        changes.next({ matched });
        await (matched ? queues.settled() : pause(LINGER_MS, held));
      });
      await queues.ended();
    } finally {
      stopped?.();
      handled.unsubscribe();
      saving.unsubscribe();
    }
    await save();
  });

/** Handles events of one tenant; calls `done` with the number of handled events. @throws when a store is unavailable */
const handlePart = async (
  subscriber: Subscriber,
  { codec, logger }: Pick<SubscriberOptions, 'codec' | 'logger'>,
  held: AbortSignal,
  part: readonly StoredEvent[],
  quantum: Quantum,
  done: (events: number) => void,
): Promise<void> => {
  if (subscriber.handleAll !== undefined) {
    const isDone =
      (await isSkipped(subscriber, part)) ||
      (await handledTogether(subscriber, subscriber.handleAll, logger, codec, part, quantum));
    if (isDone) return done(part.length);
  }
  for (const stored of part) {
    if (held.aborted) return;
    const isDone = subscriber.handleAll === undefined && (await isSkipped(subscriber, [stored]));
    if (!isDone) await handledAlone(subscriber, held, logger, codec, stored, quantum);
    if (held.aborted) return;
    done(1);
    if (quantum.isOver) return;
  }
};

const isSkipped = (
  { skips, skipsAll }: Subscriber,
  part: readonly StoredEvent[],
): boolean | Promise<boolean> => (skips !== undefined && part.every(skips)) || (skipsAll?.(part) ?? false);

/** Returns false when the events must be handled one by one, since any of them may have failed. */
const handledTogether = async (
  subscriber: Subscriber,
  handleAll: NonNullable<Subscriber['handleAll']>,
  logger: SubscriberOptions['logger'],
  codec: EventCodec,
  part: readonly StoredEvent[],
  quantum: Quantum,
): Promise<boolean> => {
  let end: ((error?: unknown) => void) | undefined;
  try {
    // Within `try`: an event that cannot be decoded is skipped alone.
    const decoded = traced(
      subscriber,
      part.map((stored) => codec.decode(stored)),
    );
    end = decoded.end;
    await handleAll(decoded.events, quantum);
    end();
    return true;
  } catch (error) {
    end?.(error);
    subscriber.begin?.();
    if (isUnavailable(error)) throw error;
    logger.warn(
      { err: error, subscriber: subscriber.name },
      'a batch of events failed; its events are handled one by one',
    );
    return false;
  }
};

/** Starts a span for each event; spans of the event's effects become its children. */
const traced = (
  { name }: Subscriber,
  events: readonly LoggedEvent[],
): { readonly events: readonly LoggedEvent[]; readonly end: (error?: unknown) => void } => {
  if (!isTracing()) return { events, end: () => undefined };
  const spans = events.map((event) =>
    continueSpan(`subscriber ${name}`, 'consumer', event.traceparent, { 'event.type': event.type }),
  );
  return {
    events: events.map((event, at) => ({ ...event, traceparent: spans[at]?.traceparent })),
    end: (error) => {
      for (const span of spans) span?.end({}, error);
    },
  };
};

/** Handles one event; skips it when all its tries fail. */
const handledAlone = async (
  subscriber: Subscriber,
  signal: AbortSignal,
  logger: SubscriberOptions['logger'],
  codec: EventCodec,
  stored: StoredEvent,
  quantum: Quantum,
): Promise<void> => {
  const handle = async (): Promise<void> => {
    const { events, end } = traced(subscriber, [codec.decode(stored)]);
    try {
      for (const event of events) await subscriber.handle(event, quantum);
      end();
    } catch (error) {
      end(error);
      throw error;
    }
  };
  // An unavailable store or busy stream does not count as a try: the tenant's events are handled again later.
  const isFinal = (error: unknown): boolean => signal.aborted || isUnavailable(error);
  try {
    await handle();
  } catch (first) {
    if (isFinal(first)) throw first;
    let tries = 1;
    const again = defer(() => (tries++ === 1 ? throwError(() => first) : handle())).pipe(
      retry(retryConfig(ONE_EVENT, { count: TRIES - 1, isFinal })),
      catchError(async (error: unknown) => {
        if (isFinal(error)) throw error;
        const { id, position } = stored;
        logger.error({ err: error, subscriber: subscriber.name, event_id: id }, 'an event was skipped');
        await subscriber.onFailure?.({ id, position }, error);
      }),
    );
    await lastValueFrom(again);
  }
};
