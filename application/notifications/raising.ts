import { inboxStream, type RaiseNotification, raiseNotification } from '../../domain/notifications/inbox.ts';
import type { Streams } from '../core/commands/streams.ts';
import { type Quantum, runInGroups } from '../core/concurrency/background-scheduler.ts';
import type { LoggedEvent } from '../core/events/event-codec.ts';
import { causeOf } from '../core/subscriptions/caused-by.ts';

/** A notification that an event leads to. */
export interface CausedNotification {
  readonly event: LoggedEvent;
  readonly data: Omit<RaiseNotification, 'source_position'>;
}

/**
 * Raises notifications of one kind and tenant, given in the log order of their events. Repeats have no effect, since
 * each inbox holds the position of its newest source event of each kind.
 */
export const raiseAll = async (
  streams: Streams,
  notifications: readonly CausedNotification[],
  quantum?: Quantum,
): Promise<void> => {
  /** By person: the position of the last source event. */
  const last = new Map<string, string>();
  const raises = notifications.map(({ event, data }) => {
    const { recipient_user_id: recipientId, kind } = data;
    const follows = last.get(recipientId);
    last.set(recipientId, event.position);
    return async (): Promise<void> => {
      const inbox = streams.of(inboxStream, event.tenantId, recipientId);
      const isKnown = inbox.cached()?.state.raisedTo[kind] !== undefined;
      await inbox.execute(
        // Notifications raised by earlier versions of the code have no position: the causation shows a repeat.
        { cause: causeOf(event), priorAttempt: isKnown ? undefined : { after: event.position } },
        (state) => raiseNotification(state, { ...data, source_position: event.position }, follows),
      );
    };
  });
  await runInGroups(raises, quantum);
};
