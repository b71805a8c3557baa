import { z } from 'zod';
import { type KeyRing, sealedKeyId } from '../../../application/core/privacy/key-ring.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { Notifications } from '../../../application/notifications/notifications.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { storedMentions, toSnippet } from '../../../domain/messaging/mentions.ts';
import {
  type NotificationDoc,
  notificationsOf,
  unreadCountOf,
} from '../../../projections/notifications/notifications.ts';
import type { Route } from '../../http/route.ts';
import { timestamp } from '../../http/schemas.ts';
import { list, listReply, ok, pageQuery, shown } from '../replies.ts';
import { personRoute, tagged } from '../route-kinds.ts';

interface Deps {
  readonly directory: Directory;
  readonly keys: KeyRing;
  readonly notifications: Notifications;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant/notifications';
const READS = ['notifications'];

export const notificationView = z
  .object({
    id: z.string(),
    kind: z.enum(['message_mention', 'note_mention']),
    actor_email: z.string().meta({ description: 'Empty if the actor is not a person.' }),
    subject_kind: z.enum(['conversation', 'entity']),
    subject_id: z.string(),
    note_id: z.string(),
    snippet: z.string(),
    read_at: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: 'Notification' });

const notificationQuery = z.object({
  unread: z.enum(['true', 'false']).default('false').meta({ description: 'Only unread ones.' }),
  ...pageQuery.shape,
});

/** The bell (specification, Notifications; decisions, section 4). */
export const notificationRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('notifications');

  const views = async (tenantId: string, docs: readonly NotificationDoc[]) => {
    await deps.keys.load(docs.map((doc) => sealedKeyId(doc.snippet)));
    const snippets = docs.map((doc) => deps.keys.openLoaded(doc.snippet) ?? '');
    const nameOf = await deps.directory.names(tenantId, snippets.flatMap(storedMentions));
    const emailOf = await deps.directory.emails(
      tenantId,
      docs.map((doc) => doc.actor_user_id),
    );
    return docs.map((doc, index) =>
      shown(notificationView, {
        ...doc,
        // The author of a note may be an API token, which has no e-mail.
        actor_email: emailOf(doc.actor_user_id) ?? '',
        snippet: toSnippet(snippets[index] ?? '', nameOf),
      }),
    );
  };

  return tagged('Notifications', [
    personRoute({
      ...list(notificationView, notificationQuery),
      path: BASE,
      operationId: 'listNotifications',
      summary: 'The caller’s notifications, newest first',
      description: 'With `unread=true` only those that are not read yet.',
      reads: READS,
      handle: ({ principal: { tenantId, userId }, query }) =>
        listReply(query, async (asked) => {
          const unreadOnly = query.unread === 'true';
          const page = await notificationsOf(reader, tenantId, userId, { unreadOnly, ...asked });
          return { ...page, docs: await views(tenantId, page.docs) };
        }),
    }),

    personRoute({
      method: 'get',
      path: `${BASE}/unread-count`,
      operationId: 'countUnreadNotifications',
      summary: 'The number of the caller’s unread notifications',
      description: 'The number for the badge of a bell.',
      responses: { 200: z.object({ unread: z.int().nonnegative() }) },
      reads: READS,
      handle: async ({ principal: { tenantId, userId } }) =>
        ok({ unread: await unreadCountOf(reader, tenantId, userId) }),
    }),

    personRoute({
      method: 'post',
      path: `${BASE}/mark-read`,
      operationId: 'markNotificationsRead',
      summary: 'Mark some or all notifications as read',
      description:
        'Send either `ids` or `all: true`. `marked` counts those that were unread; ids of others are ' +
        'skipped.',
      body: z.object({
        ids: listOf(z.string().max(200), { max: 10_000 }).optional(),
        all: z.boolean().optional(),
      }),
      responses: { 200: z.object({ marked: z.int().nonnegative() }) },
      handle: async ({ principal: { tenantId, userId }, body, context }) => {
        const { marked, position } = await deps.notifications.markRead(tenantId, userId, body, context);
        return { status: 200, body: { marked }, position };
      },
    }),
  ]);
};
