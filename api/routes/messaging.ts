import { z } from 'zod';
import type { MessageState } from '../../application/messaging.ts';
import { messageKeyId } from '../../application/messaging.ts';
import { ERASED } from '../../application/sealing.ts';
import { notFound } from '../../domain/errors.ts';
import { storedMentions, toBody } from '../../domain/messaging/mentions.ts';
import {
  type ConversationDoc,
  conversationById,
  conversationsOf,
  type MessageDoc,
  messageById,
  messagesOf,
} from '../../projections/conversations.ts';
import { decodeCursor, nextPage } from '../http/cursor.ts';
import type { Route } from '../http/route.ts';
import { cursor, limit, text, timestamp, uuid } from '../http/schemas.ts';
import { type App, contextOf, personKeyId } from './app.ts';
import { personRoute } from './kinds.ts';

/** Direct messages (specification, Messaging; decisions, section 4). */

const BASE = '/api/v1/tenant/messaging/conversations';
const TAG = 'Messaging';
const READS = ['conversations'];

const participantView = z.object({
  user_id: z.string(),
  display_name: z.string(),
  last_read_at: timestamp.nullable(),
});

const conversationView = z
  .object({
    id: z.string(),
    dm_key: z.string().meta({ description: 'SHA-256 of the sorted participant ids, lower-case hex.' }),
    participants: z.array(participantView),
    created_at: timestamp,
  })
  .meta({ id: 'Conversation' });

const listedConversationView = conversationView
  .extend({ unread_count: z.int().nonnegative(), last_message_at: timestamp.nullable() })
  .meta({ id: 'ListedConversation' });

const messageView = z
  .object({
    id: z.string(),
    sender_user_id: z.string(),
    body: z.string().optional().meta({ description: 'Absent when deleted.' }),
    created_at: timestamp,
    edited_at: timestamp.nullable(),
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Message' });

const conversationParams = z.object({ id: uuid });
const messageParams = z.object({ id: uuid, mid: uuid });
/** All of the domain's rules again: what is 400 is refused before any id is looked at (decisions, section 2). */
const messageBody = z.object({
  body: text({ max: 10_000 }).refine(
    (body) => body.trim() !== '',
    'The body must hold more than white space.',
  ),
});
const messagePage = z
  .object({
    limit: limit(),
    before: z.string().max(200).optional(),
    after: z.string().max(200).optional(),
  })
  .refine(({ before, after }) => before === undefined || after === undefined, {
    path: ['after'],
    message: 'Give before or after, not both.',
  });

const isoOrNull = (ms: number | undefined): string | null =>
  ms === undefined ? null : new Date(ms).toISOString();

export const messagingRoutes = (app: App): Route[] => {
  const reader = app.readModels.reader('conversations');

  const participants = async (tenantId: string, docs: readonly ConversationDoc[]) => {
    const ids = docs.flatMap((doc) => doc.participants.map((participant) => participant.user_id));
    return app.directory.names(tenantId, ids);
  };

  const viewOf = (doc: ConversationDoc, nameOf: (id: string) => string) => ({
    id: doc.id,
    dm_key: doc.dm_key,
    participants: doc.participants.map(({ user_id, last_read_at }) => ({
      user_id,
      display_name: nameOf(user_id),
      last_read_at,
    })),
    created_at: doc.created_at,
  });

  const stateView = async (tenantId: string, message: MessageState) => {
    const stored = message.body;
    const nameOf = await app.directory.names(tenantId, stored === undefined ? [] : storedMentions(stored));
    return {
      id: message.id,
      sender_user_id: message.senderId,
      ...(stored === undefined ? {} : { body: toBody(stored, nameOf) }),
      created_at: new Date(message.createdAt).toISOString(),
      edited_at: isoOrNull(message.editedAt),
      deleted_at: isoOrNull(message.deletedAt),
    };
  };

  /** Data keys that an answer with this message depends on. */
  const keysOf = (tenantId: string, message: MessageState): string[] => [
    messageKeyId(tenantId, message.id),
    ...storedMentions(message.body ?? '').map((id) => personKeyId(tenantId, id)),
  ];

  const docViews = async (tenantId: string, docs: readonly MessageDoc[]) => {
    await app.keys.load(docs.map((doc) => messageKeyId(tenantId, doc.id)));
    const bodies = docs.map((doc) =>
      doc.body === null ? undefined : (app.keys.openLoaded(doc.body) ?? ERASED),
    );
    const mentioned = bodies.flatMap((body) => storedMentions(body ?? ''));
    const nameOf = await app.directory.names(tenantId, mentioned);
    return docs.map((doc, index) => {
      const stored = bodies[index];
      return {
        id: doc.id,
        sender_user_id: doc.sender_user_id,
        ...(stored === undefined ? {} : { body: toBody(stored, nameOf) }),
        created_at: doc.created_at,
        edited_at: doc.edited_at,
        deleted_at: doc.deleted_at,
      };
    });
  };

  /** The revision of a message of this conversation. @throws `not_found` */
  const anchor = async (tenantId: string, conversationId: string, messageId: string | undefined) => {
    if (messageId === undefined) return undefined;
    const message = await messageById(reader, tenantId, messageId);
    if (message?.conversation_id !== conversationId) throw notFound();
    return message.seq;
  };

  return [
    personRoute({
      method: 'post',
      path: BASE,
      operationId: 'startConversation',
      summary: 'Start a conversation, or get the one these people have',
      tag: TAG,
      body: z.object({ participant_user_ids: z.array(z.string().max(128)).max(1000) }),
      responses: { 200: conversationView, 201: conversationView },
      errors: ['not_found'],
      reads: READS,
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { participant_user_ids: ids } = request.body;
        const started = await app.messaging.start(tenantId, userId, ids, contextOf(app, request));
        const { conversation, created, position } = started;
        // One that existed may have been read since; a new one has not, and the read model need not be asked.
        const doc = created ? undefined : await conversationById(reader, tenantId, conversation.id);
        const view: ConversationDoc = doc ?? {
          id: conversation.id,
          dm_key: conversation.dmKey,
          created_at: new Date(conversation.createdAt).toISOString(),
          last_message_at: null,
          active_at: '',
          participants: conversation.participants.map((user_id) => ({
            user_id,
            last_read_at: null,
            unread: 0,
          })),
        };
        return {
          status: created ? 201 : 200,
          body: viewOf(view, await participants(tenantId, [view])),
          position,
          personal: conversation.participants.map((id) => personKeyId(tenantId, id)),
        };
      },
    }),

    personRoute({
      method: 'get',
      path: BASE,
      operationId: 'listConversations',
      summary: 'The caller’s conversations, newest activity first',
      tag: TAG,
      query: z.object({ limit: limit(), cursor }),
      responses: { 200: z.array(listedConversationView) },
      reads: READS,
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const after = decodeCursor(request.query.cursor);
        const page = await conversationsOf(reader, tenantId, userId, { limit: request.query.limit, after });
        const nameOf = await participants(tenantId, page.docs);
        const body = page.docs.map((doc) => ({
          ...viewOf(doc, nameOf),
          unread_count: doc.participants.find((participant) => participant.user_id === userId)?.unread ?? 0,
          last_message_at: doc.last_message_at,
        }));
        return { status: 200, body, next: nextPage(page.next) };
      },
    }),

    personRoute({
      method: 'get',
      path: `${BASE}/:id/messages`,
      operationId: 'listMessages',
      summary: 'Messages, oldest first: the newest page, or one beside a message',
      tag: TAG,
      params: conversationParams,
      query: messagePage,
      responses: { 200: z.array(messageView) },
      errors: ['not_found', 'not_a_participant'],
      reads: READS,
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { before, after, limit: size } = request.query;
        const { id } = await app.messaging.conversation(tenantId, request.params.id, userId);
        const { messages, hasOlder } = await messagesOf(reader, tenantId, id, {
          limit: size,
          before: await anchor(tenantId, id, before),
          after: await anchor(tenantId, id, after),
        });
        const oldest = messages[0];
        return {
          status: 200,
          body: await docViews(tenantId, messages),
          next: hasOlder && oldest !== undefined ? { before: oldest.id } : undefined,
        };
      },
    }),

    personRoute({
      method: 'post',
      path: `${BASE}/:id/messages`,
      operationId: 'sendMessage',
      summary: 'Send a message; everybody it mentions is notified',
      tag: TAG,
      params: conversationParams,
      body: messageBody,
      responses: { 201: messageView },
      errors: ['not_found', 'not_a_participant'],
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const sent = await app.messaging.send(
          tenantId,
          request.params.id,
          userId,
          request.body.body,
          contextOf(app, request),
        );
        return {
          status: 201,
          body: await stateView(tenantId, sent.message),
          position: sent.position,
          personal: keysOf(tenantId, sent.message),
        };
      },
    }),

    personRoute({
      method: 'patch',
      path: `${BASE}/:id/messages/:mid`,
      operationId: 'editMessage',
      summary: 'Change the text of an own message',
      tag: TAG,
      params: messageParams,
      body: messageBody,
      responses: { 200: messageView },
      errors: ['not_found', 'not_a_participant', 'not_the_sender', 'invalid_transition'],
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { id, mid } = request.params;
        const context = contextOf(app, request);
        const edited = await app.messaging.edit(tenantId, id, mid, userId, request.body.body, context);
        return {
          status: 200,
          body: await stateView(tenantId, edited.message),
          position: edited.position,
          personal: keysOf(tenantId, edited.message),
        };
      },
    }),

    personRoute({
      method: 'delete',
      path: `${BASE}/:id/messages/:mid`,
      operationId: 'deleteMessage',
      summary: 'Delete an own message; its text cannot be had back',
      tag: TAG,
      params: messageParams,
      responses: { 200: messageView },
      errors: ['not_found', 'not_a_participant', 'not_the_sender'],
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { id, mid } = request.params;
        const deleted = await app.messaging.delete(tenantId, id, mid, userId, contextOf(app, request));
        return { status: 200, body: await stateView(tenantId, deleted.message), position: deleted.position };
      },
    }),

    personRoute({
      method: 'post',
      path: `${BASE}/:id/read`,
      operationId: 'markConversationRead',
      summary: 'The caller has read the conversation up to now',
      tag: TAG,
      params: conversationParams,
      responses: { 204: null },
      errors: ['not_found', 'not_a_participant'],
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const position = await app.messaging.read(
          tenantId,
          request.params.id,
          userId,
          contextOf(app, request),
        );
        return { status: 204, position };
      },
    }),
  ];
};
