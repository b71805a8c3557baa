import { z } from 'zod';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { KeyRing } from '../../../application/core/privacy/key-ring.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { Messaging } from '../../../application/messaging/messaging.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import { iso } from '../../../domain/core/projection.ts';
import {
  type ConversationDoc,
  conversationById,
  conversationsOf,
  messageById,
  messagesOf,
  newParticipant,
} from '../../../projections/messaging/conversations.ts';
import type { Reply, Route } from '../../http/route.ts';
import { filledText, idParams, limit, uuid } from '../../http/schemas.ts';
import { creation, found, gone, list, listReply, one, pagedList } from '../replies.ts';
import { personRoute, tagged } from '../route-kinds.ts';
import { conversationView, listedConversationView, messageView, messageViews } from './message-views.ts';

interface Deps {
  readonly directory: Directory;
  readonly keys: KeyRing;
  readonly messaging: Messaging;
  readonly readModels: ReadModels;
}

const BASE = '/api/v1/tenant/messaging/conversations';
const READS = ['conversations'];

const messageParams = idParams.extend({ mid: uuid });
/** Applies the domain's rules early, since a 400 comes before any id is looked up (decisions, section 2). */
const messageBody = z
  .object({ body: filledText(10_000, 'The body must not be blank.') })
  .meta({ id: 'MessageBody' });
const messagePage = z
  .object({
    limit: limit(),
    before: z.string().optional().meta({ description: 'Id of a message: selects messages before it.' }),
    after: z.string().optional().meta({ description: 'Id of a message: selects messages after it.' }),
  })
  .refine(({ before, after }) => before === undefined || after === undefined, {
    path: ['after'],
    message: 'Send before or after, not both.',
  });

/** Direct messages (specification, Messaging; decisions, section 4). */
export const messagingRoutes = (deps: Deps): Route[] => {
  const reader = deps.readModels.reader('conversations');

  const views = messageViews(deps);

  /** The revision of a message of this conversation. @throws `not_found` */
  const anchor = async (tenantId: string, conversationId: string, messageId: string | undefined) => {
    if (messageId === undefined) return undefined;
    const message = await messageById(reader, tenantId, messageId);
    if (message?.conversation_id !== conversationId) throw notFound();
    return message.seq;
  };

  const listed = (doc: ConversationDoc, nameOf: (id: string) => string, userId: string) => ({
    ...views.conversation(doc, nameOf),
    unread_count: doc.participants.find(({ user_id }) => user_id === userId)?.unread ?? 0,
    last_message_at: doc.last_message_at,
  });

  const reply = async (
    status: number,
    tenantId: string,
    { message, position }: Awaited<ReturnType<Messaging['send']>>,
  ): Promise<Reply> => ({
    status,
    body: await views.sent(tenantId, message),
    position,
    personal: views.keysOf(tenantId, message),
  });

  return tagged('Messaging', [
    personRoute({
      method: 'post',
      path: BASE,
      operationId: 'startConversation',
      summary: 'Start a conversation, or get the existing one of these people',
      description:
        'The caller is always a participant. The same people have one conversation: 201 if it was ' +
        'created, 200 if it existed. At most 50 people.',
      body: z.object({ participant_user_ids: listOf(z.string(), { max: 1000 }) }),
      responses: { 200: conversationView, 201: conversationView },
      reads: READS,
      handle: async ({ principal: { tenantId, userId }, body: { participant_user_ids: ids }, context }) => {
        const started = await deps.messaging.start(tenantId, userId, ids, context);
        const { conversation, created, position } = started;
        // A new conversation has no `last_read_at` of anybody, so only an existing one is looked up in the read model.
        const doc = created ? undefined : await conversationById(reader, tenantId, conversation.id);
        const view: ConversationDoc = doc ?? {
          id: conversation.id,
          dm_key: conversation.dmKey,
          created_at: iso(conversation.createdAt),
          last_message_at: null,
          active_at: '',
          participants: conversation.participants.map(newParticipant),
        };
        return {
          status: created ? 201 : 200,
          body: views.conversation(view, await views.participants(tenantId, [view])),
          position,
          personal: conversation.participants.map((id) => personKeyId(tenantId, id)),
        };
      },
    }),

    personRoute({
      ...pagedList(listedConversationView),
      path: BASE,
      operationId: 'listConversations',
      summary: 'The caller’s conversations, newest activity first',
      description:
        '`unread_count` counts messages of others that came after the caller’s `last_read_at` and are not ' +
        'deleted.',
      reads: READS,
      handle: ({ principal: { tenantId, userId }, query }) =>
        listReply(query, async (asked) => {
          const page = await conversationsOf(reader, tenantId, userId, asked);
          const nameOf = await views.participants(tenantId, page.docs);
          return { ...page, docs: page.docs.map((doc) => listed(doc, nameOf, userId)) };
        }),
    }),

    personRoute({
      ...one('get', listedConversationView, idParams),
      path: `${BASE}/:id`,
      operationId: 'getConversation',
      summary: 'One conversation of the caller, as in the list',
      description: 'With its unread count, as the list shows it. Participants only.',
      errors: ['not_a_participant'],
      reads: READS,
      handle: async ({ principal: { tenantId, userId }, params }) => {
        const { id } = await deps.messaging.conversation(tenantId, params.id, userId);
        const doc = found(await conversationById(reader, tenantId, id));
        return { status: 200, body: listed(doc, await views.participants(tenantId, [doc]), userId) };
      },
    }),

    personRoute({
      ...list(messageView, messagePage),
      path: `${BASE}/:id/messages`,
      operationId: 'listMessages',
      summary: 'Messages of a page, oldest first: the newest page, or the page before or after a message',
      description:
        'Without `before` and `after` the answer is the newest page. The `next` link leads to the ' +
        'previous, older page. A deleted message stays in the list without a body.',
      params: idParams,
      errors: ['not_a_participant'],
      reads: READS,
      handle: async ({ principal: { tenantId, userId }, params, query: { before, after, limit: size } }) => {
        const { id } = await deps.messaging.conversation(tenantId, params.id, userId);
        const { messages, hasOlder } = await messagesOf(reader, tenantId, id, {
          limit: size,
          before: await anchor(tenantId, id, before),
          after: await anchor(tenantId, id, after),
        });
        const oldest = messages[0];
        return {
          status: 200,
          body: await views.listed(tenantId, messages),
          next: hasOlder && oldest !== undefined ? { before: oldest.id } : undefined,
        };
      },
    }),

    personRoute({
      ...creation(messageView, messageBody),
      path: `${BASE}/:id/messages`,
      operationId: 'sendMessage',
      summary: 'Send a message and notify the people that it mentions',
      description:
        'A mention is written `@[name](user:<id>)`; each active person who is mentioned gets one ' +
        'notification. The message is sent to the sockets of all participants, including the sender.',
      params: idParams,
      errors: ['not_a_participant'],
      handle: async ({ principal: { tenantId, userId }, params, body, context }) =>
        reply(201, tenantId, await deps.messaging.send(tenantId, params.id, userId, body.body, context)),
    }),

    personRoute({
      ...one('patch', messageView, messageParams),
      path: `${BASE}/:id/messages/:mid`,
      operationId: 'editMessage',
      summary: 'Change the text of your own message',
      description: 'Sets `edited_at`. An edit notifies nobody and sends no envelope.',
      body: messageBody,
      errors: ['not_a_participant', 'not_the_sender', 'invalid_transition'],
      handle: async ({ principal: { tenantId, userId }, params: { id, mid }, body, context }) => {
        const edited = await deps.messaging.edit(tenantId, id, mid, userId, body.body, context);
        return reply(200, tenantId, edited);
      },
    }),

    personRoute({
      ...one('delete', messageView, messageParams),
      path: `${BASE}/:id/messages/:mid`,
      operationId: 'deleteMessage',
      summary: 'Delete your own message; its text cannot be restored',
      description:
        'The text is erased from the log, the read models, stored answers and the snippets of ' +
        'notifications. Repeating it changes nothing.',
      errors: ['not_a_participant', 'not_the_sender'],
      handle: async ({ principal: { tenantId, userId }, params: { id, mid }, context }) => {
        const deleted = await deps.messaging.delete(tenantId, id, mid, userId, context);
        return { status: 200, body: await views.sent(tenantId, deleted.message), position: deleted.position };
      },
    }),

    personRoute({
      method: 'post',
      path: `${BASE}/:id/read`,
      operationId: 'markConversationRead',
      summary: 'Mark the conversation as read up to now',
      description: 'Sets the caller’s `last_read_at`, from which unread messages are counted.',
      params: idParams,
      responses: { 204: null },
      errors: ['not_a_participant'],
      handle: async ({ principal: { tenantId, userId }, params, context }) =>
        gone(await deps.messaging.read(tenantId, params.id, userId, context)),
    }),
  ]);
};
