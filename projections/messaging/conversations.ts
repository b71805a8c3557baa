import { collection } from '../../domain/core/collection.ts';
import { type DocumentReader, iso, projection } from '../../domain/core/projection.ts';
import type { ConversationEvent } from '../../domain/messaging/conversation.ts';

/** Conversations with each participant's unread count, and their messages (specification, Messaging). */

export interface ConversationDoc {
  readonly id: string;
  readonly dm_key: string;
  readonly created_at: string;
  readonly last_message_at: string | null;
  /** Time of the last message, or of the start if there is no message; sorts the list. */
  readonly active_at: string;
  readonly participants: readonly ParticipantDoc[];
}

export interface ParticipantDoc {
  readonly user_id: string;
  readonly last_read_at: string | null;
  /** Number of other participants' undeleted messages after `last_read_at`; kept by the fold, so no query counts. */
  readonly unread: number;
}

export interface MessageDoc {
  readonly id: string;
  readonly conversation_id: string;
  /** Revision in the conversation's stream: the order of the list. */
  readonly seq: number;
  readonly sender_user_id: string;
  /** The sealed text, which names its data key and has mentions as ids; null when deleted. */
  readonly body: string | null;
  /** Id of the data key of a deleted message. */
  readonly text_key?: string;
  readonly created_at: string;
  readonly edited_at?: string;
  readonly deleted_at?: string;
}

export const newParticipant = (user_id: string): ParticipantDoc => ({
  user_id,
  last_read_at: null,
  unread: 0,
});

const each = (
  conversation: ConversationDoc,
  change: (participant: ParticipantDoc) => ParticipantDoc,
): ConversationDoc => ({ ...conversation, participants: conversation.participants.map(change) });

const conversations = collection<ConversationDoc>('conversations');
const messages = collection<MessageDoc>('messages');

export const conversationsProjection = projection<ConversationEvent>({
  name: 'conversations',
  version: 3,
  collections: [
    {
      name: 'conversations',
      indexes: [
        {
          name: 'by_participant',
          fields: ['participants.user_id', 'active_at'],
          multi: 'participants.user_id',
        },
      ],
    },
    { name: 'messages', indexes: [{ name: 'by_conversation', fields: ['conversation_id', 'seq'] }] },
  ],
  on: {
    ConversationStarted: ({ data, at }) => [
      conversations.put(data.conversation_id, {
        id: data.conversation_id,
        dm_key: data.dm_key,
        created_at: iso(at),
        last_message_at: null,
        active_at: iso(at),
        participants: data.participant_user_ids.map(newParticipant),
      }),
    ],

    MessageSent: ({ data, at, revision }) => [
      messages.put(data.message_id, {
        id: data.message_id,
        conversation_id: data.conversation_id,
        seq: revision,
        sender_user_id: data.sender_user_id,
        body: data.body,
        created_at: iso(at),
      }),
      conversations.change(data.conversation_id, (conversation) => ({
        ...each(conversation, (participant) =>
          participant.user_id === data.sender_user_id
            ? participant
            : { ...participant, unread: participant.unread + 1 },
        ),
        last_message_at: iso(at),
        active_at: iso(at),
      })),
    ],

    MessageEdited: ({ data, at }) => [
      messages.change(data.message_id, (message) =>
        message.deleted_at === undefined ? { ...message, body: data.body, edited_at: iso(at) } : message,
      ),
    ],

    MessageDeleted: ({ data, at }) => [
      messages.merge(data.message_id, {
        body: null,
        // Events that are older than key pages name no data key.
        text_key: data.text_key ?? `message-${data.message_id}`,
        deleted_at: iso(at),
      }),
      conversations.change(data.conversation_id, (conversation) =>
        each(conversation, (participant) => {
          const counted =
            participant.user_id !== data.sender_user_id &&
            (participant.last_read_at === null || data.sent_at > participant.last_read_at);
          return counted ? { ...participant, unread: participant.unread - 1 } : participant;
        }),
      ),
    ],

    ConversationRead: ({ data, at }) => [
      conversations.change(data.conversation_id, (conversation) =>
        each(conversation, (participant) =>
          participant.user_id === data.user_id
            ? { ...participant, last_read_at: iso(at), unread: 0 }
            : participant,
        ),
      ),
    ],
  },
});

// Queries

/** A person's conversations, newest activity first. */
export const conversationsOf = conversations.listOf('by_participant', 'desc');

export const conversationById = conversations.get;

export const messageById = messages.get;

/** A page of messages, oldest first: the newest messages, or the messages next to the revision `before` or `after`. */
export const messagesOf = async (
  reader: DocumentReader,
  tenantId: string,
  conversationId: string,
  page: { limit: number; before?: number | undefined; after?: number | undefined },
): Promise<{ messages: readonly MessageDoc[]; hasOlder: boolean }> => {
  const query = { index: 'by_conversation', equals: [conversationId], limit: page.limit };
  if (page.after !== undefined) {
    const range = { gt: page.after };
    const { docs } = await reader.find<MessageDoc>('messages', tenantId, { ...query, range, order: 'asc' });
    return { messages: docs, hasOlder: false };
  }
  const { docs, next } = await reader.find<MessageDoc>('messages', tenantId, {
    ...query,
    ...(page.before === undefined ? {} : { range: { lt: page.before } }),
    order: 'desc',
  });
  return { messages: [...docs].reverse(), hasOlder: next !== undefined };
};
