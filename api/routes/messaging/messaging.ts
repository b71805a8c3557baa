import { z } from 'zod';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import type { KeyRing } from '../../../application/core/privacy/key-ring.ts';
import type { ReadModels } from '../../../application/core/projections/read-models.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { Messaging } from '../../../application/messaging/messaging.ts';
import type { Ids } from '../../../application/ports/clock.ts';
import { notFound } from '../../../domain/core/errors.ts';
import { listOf } from '../../../domain/core/list-schema.ts';
import {
  type ConversationDoc,
  conversationById,
  conversationsOf,
  messageById,
  messagesOf,
} from '../../../projections/messaging/conversations.ts';
import { decodeCursor, nextPage } from '../../http/cursor.ts';
import { contextOf } from '../../http/request-context.ts';
import type { Route } from '../../http/route.ts';
import { cursor, limit, text, uuid } from '../../http/schemas.ts';
import { personRoute } from '../route-kinds.ts';
import { conversationView, listedConversationView, messageView, messageViews } from './message-views.ts';

interface Deps {
  readonly directory: Directory;
  readonly ids: Ids;
  readonly keys: KeyRing;
  readonly messaging: Messaging;
  readonly readModels: ReadModels;
}

/** Direct messages (specification, Messaging; decisions, section 4). */

const BASE = '/api/v1/tenant/messaging/conversations';
const TAG = 'Messaging';
const READS = ['conversations'];

const conversationParams = z.object({ id: uuid });
const messageParams = z.object({ id: uuid, mid: uuid });
/** Applies the domain's rules early, since a 400 comes before any id is looked up (decisions, section 2). */
const messageBody = z.object({
  body: text({ max: 10_000 }).refine(
    (body) => body.trim() !== '',
    'The body must hold more than white space.',
  ),
});
const messagePage = z
  .object({
    limit: limit(),
    before: z.string().optional(),
    after: z.string().optional(),
  })
  .refine(({ before, after }) => before === undefined || after === undefined, {
    path: ['after'],
    message: 'Give before or after, not both.',
  });

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

  return [
    personRoute({
      method: 'post',
      path: BASE,
      operationId: 'startConversation',
      summary: 'Start a conversation, or get the one these people have',
      tag: TAG,
      body: z.object({ participant_user_ids: listOf(z.string(), { max: 1000 }) }),
      responses: { 200: conversationView, 201: conversationView },
      errors: ['not_found'],
      reads: READS,
      handle: async (request) => {
        const { tenantId, userId } = request.principal;
        const { participant_user_ids: ids } = request.body;
        const started = await deps.messaging.start(tenantId, userId, ids, contextOf(deps, request));
        const { conversation, created, position } = started;
        // An existing conversation may have been read since; a new one needs no look into the read model.
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
          body: views.conversation(view, await views.participants(tenantId, [view])),
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
        const nameOf = await views.participants(tenantId, page.docs);
        const body = page.docs.map((doc) => ({
          ...views.conversation(doc, nameOf),
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
        const { id } = await deps.messaging.conversation(tenantId, request.params.id, userId);
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
        const sent = await deps.messaging.send(
          tenantId,
          request.params.id,
          userId,
          request.body.body,
          contextOf(deps, request),
        );
        return {
          status: 201,
          body: await views.sent(tenantId, sent.message),
          position: sent.position,
          personal: views.keysOf(tenantId, sent.message),
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
        const context = contextOf(deps, request);
        const edited = await deps.messaging.edit(tenantId, id, mid, userId, request.body.body, context);
        return {
          status: 200,
          body: await views.sent(tenantId, edited.message),
          position: edited.position,
          personal: views.keysOf(tenantId, edited.message),
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
        const deleted = await deps.messaging.delete(tenantId, id, mid, userId, contextOf(deps, request));
        return { status: 200, body: await views.sent(tenantId, deleted.message), position: deleted.position };
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
        const position = await deps.messaging.read(
          tenantId,
          request.params.id,
          userId,
          contextOf(deps, request),
        );
        return { status: 204, position };
      },
    }),
  ];
};
