import { collection } from '../../domain/core/collection.ts';
import {
  type DocumentReader,
  iso,
  type Page,
  type PageRequest,
  projection,
} from '../../domain/core/projection.ts';
import type { InboxEvent, RaiseNotification } from '../../domain/notifications/inbox.ts';

/** A person's notifications and how many are unread (specification, Notifications). */

export interface NotificationDoc
  extends Omit<RaiseNotification, 'notification_id' | 'snippet_key' | 'source_position'> {
  readonly id: string;
  /** Revision in the inbox's stream: the order of the list. */
  readonly seq: number;
  readonly unread: boolean;
  readonly read_at: string | null;
  readonly created_at: string;
}

const notifications = collection<NotificationDoc>('notifications');
const inboxes = collection<{ readonly unread: number }>('inboxes');

export const notificationsProjection = projection<InboxEvent>({
  name: 'notifications',
  version: 1,
  collections: [
    {
      name: 'notifications',
      indexes: [
        { name: 'by_recipient', fields: ['recipient_user_id', 'seq'] },
        { name: 'unread', fields: ['recipient_user_id', 'unread', 'seq'] },
      ],
    },
    { name: 'inboxes', indexes: [] },
  ],
  on: {
    NotificationRaised: ({ data, at, revision }) => [
      notifications.put(data.notification_id, {
        id: data.notification_id,
        recipient_user_id: data.recipient_user_id,
        seq: revision,
        kind: data.kind,
        actor_user_id: data.actor_user_id,
        subject_kind: data.subject_kind,
        subject_id: data.subject_id,
        note_id: data.note_id,
        snippet: data.snippet,
        unread: true,
        read_at: null,
        created_at: iso(at),
      }),
      inboxes.touch(data.recipient_user_id, (inbox) => ({ unread: (inbox?.unread ?? 0) + 1 })),
    ],

    NotificationsRead: ({ data, at }) => [
      ...data.notification_ids.map((id) => notifications.merge(id, { unread: false, read_at: iso(at) })),
      inboxes.touch(data.recipient_user_id, (inbox) => ({
        unread: (inbox?.unread ?? 0) - data.notification_ids.length,
      })),
    ],
  },
});

// Queries

/** A person's notifications, newest first. */
export const notificationsOf = (
  reader: DocumentReader,
  tenantId: string,
  userId: string,
  { unreadOnly, ...page }: PageRequest & { readonly unreadOnly: boolean },
): Promise<Page<NotificationDoc>> =>
  reader.find('notifications', tenantId, {
    ...(unreadOnly
      ? { index: 'unread', equals: [userId, true] }
      : { index: 'by_recipient', equals: [userId] }),
    order: 'desc',
    ...page,
  });

export const unreadCountOf = async (
  reader: DocumentReader,
  tenantId: string,
  userId: string,
): Promise<number> => (await inboxes.get(reader, tenantId, userId))?.unread ?? 0;
