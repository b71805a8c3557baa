import { z } from 'zod';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { folded, type StreamType } from '../core/stream-type.ts';

/**
 * A person's inbox (specification, Notifications). Its stream holds raised and read notifications, so that `marked`
 * stays exact under concurrent marking.
 */

// Events

export const NotificationRaised = defineEvent(
  'NotificationRaised',
  z.object({
    notification_id: z.string(),
    recipient_user_id: z.string(),
    kind: z.enum(['message_mention', 'note_mention']),
    actor_user_id: z.string(),
    subject_kind: z.enum(['conversation', 'entity']),
    subject_id: z.string(),
    note_id: z.string(),
    /** Sealed with the key of its source text, so that both are erased together. */
    snippet: z.string(),
    snippet_key: z.string(),
  }),
  { personal: { snippet: { kind: 'message', id: 'note_id', key: 'snippet_key' } } },
);

/** At most {@link READ_CHUNK} ids per event, so that an event stays small. */
export const NotificationsRead = defineEvent(
  'NotificationsRead',
  z.object({ recipient_user_id: z.string(), notification_ids: z.array(z.string()) }),
);

export const inboxEvents = [NotificationRaised, NotificationsRead] as const;
export type InboxEvent = EventOf<(typeof inboxEvents)[number]>;

// State

export interface Inbox {
  readonly unread: readonly string[];
}

export const inboxStream: StreamType<Inbox, InboxEvent> = {
  category: 'inbox',
  stateVersion: 1,
  initial: { unread: [] },
  evolve: folded({
    NotificationRaised: ({ unread }, { notification_id }) => ({ unread: [...unread, notification_id] }),
    NotificationsRead: ({ unread }, { notification_ids }) => {
      const read = new Set(notification_ids);
      return { unread: unread.filter((id) => !read.has(id)) };
    },
  }),
};

// Commands

export type RaiseNotification = z.output<typeof NotificationRaised.schema>;

export type MarkNotificationsRead =
  | { readonly userId: string; readonly ids: readonly string[] }
  | { readonly userId: string; readonly all: true };

// Decide

export const READ_CHUNK = 5000;

/** @param data `snippet` in stored form, with mentions as ids */
export const raiseNotification = (data: RaiseNotification): readonly InboxEvent[] =>
  decided(NotificationRaised, data);

/** Marks unread notifications; skips ids that are unknown, already read, or of another inbox. */
export const markNotificationsRead = (
  state: Inbox,
  command: MarkNotificationsRead,
): readonly InboxEvent[] => {
  const wanted = 'all' in command ? undefined : new Set(command.ids);
  const ids = wanted === undefined ? state.unread : state.unread.filter((id) => wanted.has(id));
  const events: InboxEvent[] = [];
  for (let start = 0; start < ids.length; start += READ_CHUNK) {
    events.push({
      type: 'NotificationsRead',
      data: { recipient_user_id: command.userId, notification_ids: ids.slice(start, start + READ_CHUNK) },
    });
  }
  return events;
};
