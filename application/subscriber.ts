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
  /** Of those that do better with many at once: tried first; should it fail, each event goes to `handle`. */
  readonly handleAll?: (events: readonly LoggedEvent[]) => Promise<void>;
  /** Told once when an event could not be handled in several tries; it is then passed over. */
  readonly onFailure?: (event: { id: string; position: Position }, error: unknown) => Promise<void>;
}

export interface SubscriberOptions extends LeaseOptions {
  readonly store: ReadStore;
  readonly events: EventStore;
  readonly codec: EventCodec;
}

const TRIES = 5;
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
        const together = await handledTogether(subscriber, batch.events, codec, logger);
        for (const stored of together ? [] : batch.events) {
          await withRetries(subscriber, held, logger, stored, () => subscriber.handle(codec.decode(stored)));
          if (held.aborted) return;
          position = stored.position;
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

/** False where each event is to be handled by itself. */
const handledTogether = async (
  { name, handleAll }: Subscriber,
  events: readonly StoredEvent[],
  codec: EventCodec,
  logger: SubscriberOptions['logger'],
): Promise<boolean> => {
  if (handleAll === undefined || events.length < 2) return false;
  try {
    await handleAll(events.map((stored) => codec.decode(stored)));
    return true;
  } catch (error) {
    if (error instanceof StoreUnavailable || isBusy(error)) throw error;
    logger.warn({ err: error, subscriber: name }, 'events are handled one by one');
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
