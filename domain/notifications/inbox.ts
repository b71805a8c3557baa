import { z } from 'zod';
import type { Decider } from '../decider.ts';
import { defineEvent, type EventOf } from '../event.ts';

/**
 * A person's inbox (specification, Notifications). Its stream holds what was raised and what was read, so that
 * `marked` is exact whoever marks at the same time.
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
    /** Sealed with the key of the text it was made from, so that it goes when that text goes. */
    snippet: z.string(),
    snippet_key: z.string(),
  }),
  { personal: { snippet: (data) => data.snippet_key } },
);

/** At most {@link READ_CHUNK} ids an event, so that an event stays small. */
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

export const inboxDecider: Decider<Inbox, InboxEvent> = {
  category: 'inbox',
  stateVersion: 1,
  initial: { unread: [] },
  evolve: (state, event) => {
    switch (event.type) {
      case 'NotificationRaised':
        return { unread: [...state.unread, event.data.notification_id] };
      case 'NotificationsRead': {
        const read = new Set(event.data.notification_ids);
        return { unread: state.unread.filter((id) => !read.has(id)) };
      }
      default:
        return event satisfies never;
    }
  },
};

// Commands

export interface RaiseNotification {
  readonly notificationId: string;
  readonly recipientId: string;
  readonly kind: 'message_mention' | 'note_mention';
  readonly actorId: string;
  readonly subject: { readonly kind: 'conversation' | 'entity'; readonly id: string };
  readonly noteId: string;
  /** The stored form: mentions as ids. */
  readonly snippet: string;
  readonly snippetKey: string;
}

export type MarkNotificationsRead =
  | { readonly userId: string; readonly ids: readonly string[] }
  | { readonly userId: string; readonly all: true };

// Decide

export const READ_CHUNK = 5000;

export const raiseNotification = (command: RaiseNotification): readonly InboxEvent[] => [
  {
    type: 'NotificationRaised',
    data: {
      notification_id: command.notificationId,
      recipient_user_id: command.recipientId,
      kind: command.kind,
      actor_user_id: command.actorId,
      subject_kind: command.subject.kind,
      subject_id: command.subject.id,
      note_id: command.noteId,
      snippet: command.snippet,
      snippet_key: command.snippetKey,
    },
  },
];

/** Only what is unread now is marked; ids that are unknown, read or somebody else's are skipped. */
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
