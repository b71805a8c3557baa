import { DomainError } from '../domain/errors.ts';
import type { EventCodec, LoggedEvent } from './codec.ts';
import { holdLease, type LeaseOptions, pause } from './lease-holder.ts';
import { type EventStore, type Position, type StoredEvent, StoreUnavailable } from './ports/event-store.ts';
import { Fenced, leaseNameOfSubscriber, type ReadStore } from './ports/read-store.ts';

/**
 * A process manager: reacts to events by commands. It may see an event more than once, and what it does is keyed by
 * that event's id.
 */
export interface Subscriber {
  readonly name: string;
  readonly types: readonly string[];
  /** Told each time that it begins at its checkpoint, which is perhaps not where this process left off. */
  readonly begin?: () => void;
  readonly handle: (event: LoggedEvent) => Promise<void>;
  /**
   * Several events, in the order of the log, in place of {@link handle} for each: for what need not wait for one another.
   * When it fails, `begin` is told and they are handled one by one.
   */
  readonly handleAll?: (events: readonly LoggedEvent[]) => Promise<void>;
  /**
   * Whether there is nothing to be done for an event, as things are when nothing before it is left to do; where that can
   * be told without decoding it. Events that are handled together are passed over together, or not at all.
   */
  readonly passesOver?: (event: StoredEvent) => boolean;
  /** As {@link passesOver} of all of several events that are handled together, for what has to be asked of a store. */
  readonly passesOverAll?: (events: readonly StoredEvent[]) => Promise<boolean>;
  /** Told once when an event could not be handled in several tries; it is then passed over. */
  readonly onFailure?: (event: { id: string; position: Position }, error: unknown) => Promise<void>;
}

export interface SubscriberOptions extends LeaseOptions {
  readonly store: ReadStore;
  readonly events: EventStore;
  readonly codec: EventCodec;
}

const TRIES = 5;
/** Events that are handled together. */
const AT_ONCE = 128;
const SAVE_MS = 250;
/** Events that are none of the subscriber's are soon passed over again. */
const SAVE_UNMATCHED_MS = 2000;
const LINGER_MS = 20;

/** Runs a subscriber under its lease until aborted, from its stored checkpoint on. */
export const runSubscriber = (
  subscriber: Subscriber,
  options: SubscriberOptions,
  signal: AbortSignal,
): Promise<void> =>
  holdLease(leaseNameOfSubscriber(subscriber.name), options, signal, async (lease, held) => {
    const { store, events, codec, logger } = options;
    const after = await store.subscriberCheckpoint(subscriber.name);
    subscriber.begin?.();
    let position = after;
    let unsaved: NodeJS.Timeout | undefined;
    const save = async (): Promise<void> => {
      clearTimeout(unsaved);
      unsaved = undefined;
      if (position !== undefined)
        await store.saveSubscriberCheckpoint(subscriber.name, lease.fence, position);
    };
    const batches = events.subscribe({ after, filter: { types: subscriber.types }, signal: held });
    try {
      for await (const batch of batches) {
        for (const part of partsOf(subscriber, batch.events)) {
          if (await isPassedOver(subscriber, part)) {
            position = part.at(-1)?.position ?? position;
            continue;
          }
          if (!(await handledTogether(subscriber, logger, codec, part))) {
            for (const stored of part) {
              await withRetries(subscriber, held, logger, stored, () =>
                subscriber.handle(codec.decode(stored)),
              );
              if (held.aborted) return;
              position = stored.position;
            }
          }
          if (held.aborted) return;
          position = part.at(-1)?.position ?? position;
        }
        position = batch.position;
        const matched = batch.events.length > 0;
        unsaved ??= setTimeout(
          () => {
            save().catch((error: unknown) => {
              if (!(error instanceof Fenced))
                logger.warn({ err: error, subscriber: subscriber.name }, 'a checkpoint was not saved');
            });
          },
          matched ? SAVE_MS : SAVE_UNMATCHED_MS,
        );
        // While the log is busy with what is none of its business it looks less often, and at more at once.
        if (!matched) await pause(LINGER_MS, held);
      }
      await save();
    } finally {
      clearTimeout(unsaved);
    }
  });

const isBusy = (error: unknown): boolean => error instanceof DomainError && error.code === 'unavailable';

/** What is handled in one go: as much as is worth to be held in memory. */
const partsOf = ({ handleAll }: Subscriber, events: readonly StoredEvent[]): readonly StoredEvent[][] => {
  const size = handleAll === undefined ? 1 : AT_ONCE;
  return Array.from({ length: Math.ceil(events.length / size) }, (_, nth) =>
    events.slice(nth * size, (nth + 1) * size),
  );
};

const isPassedOver = (
  { passesOver, passesOverAll }: Subscriber,
  part: readonly StoredEvent[],
): boolean | Promise<boolean> =>
  (passesOver !== undefined && part.every(passesOver)) || (passesOverAll?.(part) ?? false);

/** False when they are to be handled one by one: which of them is at fault is not known. */
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
    if (error instanceof StoreUnavailable || isBusy(error)) throw error;
    logger.warn({ err: error, subscriber: subscriber.name }, 'events are handled one by one');
    subscriber.begin?.();
    return false;
  }
};

const withRetries = async (
  subscriber: Subscriber,
  signal: AbortSignal,
  logger: SubscriberOptions['logger'],
  event: { id: string; position: Position },
  handle: () => Promise<void>,
): Promise<void> => {
  for (let attempt = 1; !signal.aborted; attempt += 1) {
    try {
      await handle();
      return;
    } catch (error) {
      // A store out of reach, or a stream too busy, is nobody's fault: the subscriber starts again from its checkpoint.
      if (error instanceof StoreUnavailable || isBusy(error)) throw error;
      if (attempt >= TRIES) {
        logger.error(
          { err: error, subscriber: subscriber.name, event_id: event.id },
          'an event was passed over',
        );
        await subscriber.onFailure?.(event, error);
        return;
      }
      await pause(50 * 2 ** attempt, signal);
    }
  }
};
