import { z } from 'zod';
import { type ChunkedList, itemsOf, withItem, withoutItems } from '../core/chunked-list.ts';
import { DomainError } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { folded, type StreamType } from '../core/stream-type.ts';

/**
 * A person's inbox (specification, Notifications). Its stream holds raised and read notifications, so that the
 * answer's count `marked` stays exact when requests mark concurrently.
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
    /** Sealed with the key of the text that it quotes, so that snippet and text are erased together. */
    snippet: z.string(),
    snippet_key: z.string(),
    /** Position of the event that mentions the person; missing in events that earlier versions of the code appended. */
    source_position: z.string().optional(),
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
  readonly unread: ChunkedList<string>;
  /** By kind: `source_position` of the newest notification. Mentions are handled in the order of the log. */
  readonly raisedTo: Readonly<Partial<Record<NotificationKind, string>>>;
}

export const inboxStream: StreamType<Inbox, InboxEvent> = {
  category: 'inbox',
  stateVersion: 2,
  initial: { unread: [], raisedTo: {} },
  evolve: folded({
    NotificationRaised: (state, { notification_id: id, kind, source_position: position }) => ({
      unread: withItem(state.unread, id),
      raisedTo: position === undefined ? state.raisedTo : { ...state.raisedTo, [kind]: position },
    }),
    NotificationsRead: (state, { notification_ids }) => ({
      ...state,
      unread: withoutItems(state.unread, new Set(notification_ids)),
    }),
  }),
};

// Commands

export type RaiseNotification = z.output<typeof NotificationRaised.schema>;
type NotificationKind = RaiseNotification['kind'];

interface MarkNotificationsRead {
  readonly userId: string;
  /** Default: all. */
  readonly ids?: readonly string[] | undefined;
}

// Decide

export const READ_CHUNK = 5000;
/** Most notifications that a command marks: an append to EventStoreDB has at most 1 MiB. */
export const MARKED_TOGETHER = 4 * READ_CHUNK;

/**
 * No events for a repeat: the source event is not after the newest source event of this kind.
 * @param data `snippet` in stored form, with mentions as ids
 * @param follows `source_position` of the person's previous notification, if that is raised concurrently
 * @throws `unavailable` when the previous notification is not raised yet: raised later, it would count as a repeat
 */
export const raiseNotification = (
  { raisedTo }: Inbox,
  data: RaiseNotification,
  follows = '',
): readonly InboxEvent[] => {
  const { source_position: position = '' } = data;
  const newest = raisedTo[data.kind] ?? '';
  if (newest !== '' && position <= newest) return [];
  if (newest < follows)
    throw new DomainError('unavailable', 'An earlier notification has not been raised yet.');
  return decided(NotificationRaised, data);
};

/**
 * Marks unread notifications, at most {@link MARKED_TOGETHER}; skips ids that are unknown, already read, or of another
 * inbox.
 */
export const markNotificationsRead = (
  state: Inbox,
  command: MarkNotificationsRead,
): readonly InboxEvent[] => {
  const wanted = command.ids && new Set(command.ids);
  const unread = itemsOf(state.unread).filter((id) => wanted?.has(id) ?? true);
  const ids = unread.slice(0, MARKED_TOGETHER);
  const events: InboxEvent[] = [];
  for (let start = 0; start < ids.length; start += READ_CHUNK) {
    events.push({
      type: 'NotificationsRead',
      data: { recipient_user_id: command.userId, notification_ids: ids.slice(start, start + READ_CHUNK) },
    });
  }
  return events;
};
