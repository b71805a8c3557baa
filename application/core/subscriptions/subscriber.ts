import {
  audit,
  BehaviorSubject,
  catchError,
  concatMap,
  defer,
  lastValueFrom,
  retry,
  skip,
  throwError,
  timer,
} from 'rxjs';
import { DomainError } from '../../../domain/core/errors.ts';
import { type Position, type StoredEvent, StoreUnavailable } from '../../ports/event-store.ts';
import { Fenced, leaseNameOfSubscriber, type ReadStore } from '../../ports/read-store.ts';
import { pause } from '../concurrency/pause.ts';
import { ONE_EVENT, retried } from '../concurrency/retry-policy.ts';
import type { EventCodec, LoggedEvent } from '../events/event-codec.ts';
import { holdLease, type LeaseOptions } from './lease.ts';
import type { LogFollower } from './log-follower.ts';

/** Reacts to events by commands, at least once for each event; the commands' effects are keyed by the event's id. */
export interface Subscriber {
  readonly name: string;
  readonly types: readonly string[];
  /** Called each time the subscriber starts at its checkpoint, which may lie before events handled already. */
  readonly begin?: () => void;
  readonly handle: (event: LoggedEvent) => Promise<void>;
  /**
   * Handles several events in log order instead of {@link handle} for each, when they need not wait for one another.
   * When it fails, `begin` is called and they are handled one by one.
   */
  readonly handleAll?: (events: readonly LoggedEvent[]) => Promise<void>;
  /**
   * Whether an event needs no work once all earlier events are handled, decided without decoding it. A part is skipped
   * when all its events are.
   */
  readonly skips?: (event: StoredEvent) => boolean;
  /** As {@link skips} for a whole part, when the check needs a store. */
  readonly skipsAll?: (events: readonly StoredEvent[]) => Promise<boolean>;
  /** Called once when an event failed in all its tries; it is then skipped. */
  readonly onFailure?: (event: { id: string; position: Position }, error: unknown) => Promise<void>;
}

export interface SubscriberOptions extends LeaseOptions {
  readonly store: ReadStore;
  readonly follower: LogFollower;
  readonly codec: EventCodec;
}

/** Tries of one event before it is skipped. */
const TRIES = 5;
/** Events handled together. */
const AT_ONCE = 128;
/** Delay (ms) of storing a checkpoint, after handled events and after others. */
const SAVE_MS = 250;
const SAVE_UNMATCHED_MS = 2000;
/** Pause (ms) after a batch without matching events. */
const LINGER_MS = 20;

/** Runs a subscriber under its lease from its stored checkpoint until aborted. */
export const runSubscriber = (
  subscriber: Subscriber,
  options: SubscriberOptions,
  signal: AbortSignal,
): Promise<void> =>
  holdLease(leaseNameOfSubscriber(subscriber.name), options, signal, async (lease, held) => {
    const { store, follower, codec, logger } = options;
    const after = await store.subscriberCheckpoint(subscriber.name);
    subscriber.begin?.();
    /** The last handled position; kept per event, since a batch may end half-way. */
    const done = new BehaviorSubject({ position: after, matched: false });
    let saved: Promise<void> = Promise.resolve();
    const save = (): Promise<void> => {
      const saving = saved.then(async () => {
        const { position } = done.value;
        if (position !== undefined) {
          await store.saveSubscriberCheckpoint(subscriber.name, lease.fence, position);
        }
      });
      // One at a time, so that an earlier position never overwrites a later one.
      saved = saving.catch(() => undefined);
      return saving;
    };
    const saving = done
      .pipe(
        skip(1),
        audit(({ matched }) => timer(matched ? SAVE_MS : SAVE_UNMATCHED_MS)),
        concatMap(() =>
          save().catch((error: unknown) => {
            if (!(error instanceof Fenced))
              logger.warn({ err: error, subscriber: subscriber.name }, 'a checkpoint was not saved');
          }),
        ),
      )
      .subscribe();
    const handle = async (events: readonly StoredEvent[]): Promise<void> => {
      for (const part of partsOf(subscriber, events)) {
        if (held.aborted) return;
        if (
          !(await isPassedOver(subscriber, part)) &&
          !(await handledTogether(subscriber, logger, codec, part))
        ) {
          for (const stored of part) {
            await handledAlone(subscriber, held, logger, codec, stored);
            if (held.aborted) return;
            done.next({ position: stored.position, matched: true });
          }
        }
        done.next({ position: part.at(-1)?.position ?? done.value.position, matched: true });
      }
    };
    try {
      await follower.run({ after, filter: { types: subscriber.types }, signal: held }, async (batch) => {
        await handle(batch.events);
        if (held.aborted) return;
        const matched = batch.events.length > 0;
        done.next({ position: batch.position, matched });
        if (!matched) await pause(LINGER_MS, held);
      });
      await save();
    } finally {
      saving.unsubscribe();
    }
  });

const isAway = (error: unknown): boolean =>
  error instanceof StoreUnavailable || (error instanceof DomainError && error.code === 'unavailable');

/** Parts of a batch that are handled together. */
const partsOf = ({ handleAll }: Subscriber, events: readonly StoredEvent[]): readonly StoredEvent[][] => {
  const size = handleAll === undefined ? 1 : AT_ONCE;
  return Array.from({ length: Math.ceil(events.length / size) }, (_, nth) =>
    events.slice(nth * size, (nth + 1) * size),
  );
};

const isPassedOver = (
  { skips, skipsAll }: Subscriber,
  part: readonly StoredEvent[],
): boolean | Promise<boolean> => (skips !== undefined && part.every(skips)) || (skipsAll?.(part) ?? false);

/** Returns false when the events must be handled one by one, since any of them may have failed. */
const handledTogether = async (
  subscriber: Subscriber,
  logger: SubscriberOptions['logger'],
  codec: EventCodec,
  part: readonly StoredEvent[],
): Promise<boolean> => {
  if (subscriber.handleAll === undefined) return false;
  try {
    await subscriber.handleAll(part.map((stored) => codec.decode(stored)));
    return true;
  } catch (error) {
    if (isAway(error)) throw error;
    logger.warn({ err: error, subscriber: subscriber.name }, 'events are handled one by one');
    subscriber.begin?.();
    return false;
  }
};

/** Handles one event; skips it when all its tries fail. */
const handledAlone = async (
  subscriber: Subscriber,
  signal: AbortSignal,
  logger: SubscriberOptions['logger'],
  codec: EventCodec,
  stored: StoredEvent,
): Promise<void> => {
  const handle = (): Promise<void> => subscriber.handle(codec.decode(stored));
  // Unavailable stores and busy streams do not count as failures: the subscriber restarts from its checkpoint.
  const isFinal = (error: unknown): boolean => signal.aborted || isAway(error);
  try {
    await handle();
  } catch (first) {
    if (isFinal(first)) throw first;
    let tries = 1;
    const again = defer(() => (tries++ === 1 ? throwError(() => first) : handle())).pipe(
      retry(retried(ONE_EVENT, { count: TRIES - 1, isFinal })),
      catchError(async (error: unknown) => {
        if (isFinal(error)) throw error;
        const { id, position } = stored;
        logger.error({ err: error, subscriber: subscriber.name, event_id: id }, 'an event was passed over');
        await subscriber.onFailure?.({ id, position }, error);
      }),
    );
    await lastValueFrom(again);
  }
};
