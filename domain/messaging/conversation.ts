import { z } from 'zod';
import { DomainError, invalidAt, notFound } from '../core/errors.ts';
import { decided, defineEvent, type EventOf } from '../core/event.ts';
import { type Decided, type DecisionContext, folded, type StreamType } from '../core/stream-type.ts';
import { codePoints, isStorableText } from '../core/text.ts';

/**
 * A direct-message conversation (specification, Messaging; decisions, section 4). Its stream holds participants,
 * messages and read marks. The state keeps no messages: callers pass the facts of a message ({@link MessageFacts}).
 */

// Events

/** `text_key` names the text's data key; older events have no `text_key`. */
const text = { kind: 'message', id: 'message_id', key: 'text_key' } as const;

export const ConversationStarted = defineEvent(
  'ConversationStarted',
  z.object({
    conversation_id: z.string(),
    dm_key: z.string(),
    participant_user_ids: z.array(z.string()),
  }),
);

export const MessageSent = defineEvent(
  'MessageSent',
  z.object({
    conversation_id: z.string(),
    message_id: z.string(),
    sender_user_id: z.string(),
    body: z.string(),
    text_key: z.string().optional(),
    /** Mentioned active users to notify, without duplicates and without the sender. */
    mentioned_user_ids: z.array(z.string()),
  }),
  { personal: { body: text } },
);

export const MessageEdited = defineEvent(
  'MessageEdited',
  z.object({
    conversation_id: z.string(),
    message_id: z.string(),
    body: z.string(),
    text_key: z.string().optional(),
  }),
  { personal: { body: text } },
);

export const MessageDeleted = defineEvent(
  'MessageDeleted',
  z.object({
    conversation_id: z.string(),
    message_id: z.string(),
    sender_user_id: z.string(),
    /** Time of sending; the fold lowers the unread count of participants who had not read the message. */
    sent_at: z.string(),
    /** The data key to destroy. */
    text_key: z.string().optional(),
  }),
);

export const ConversationRead = defineEvent(
  'ConversationRead',
  z.object({ conversation_id: z.string(), user_id: z.string() }),
);

export const conversationEvents = [
  ConversationStarted,
  MessageSent,
  MessageEdited,
  MessageDeleted,
  ConversationRead,
] as const;

export type ConversationEvent = EventOf<(typeof conversationEvents)[number]>;

// State

export type Conversation =
  | { readonly status: 'none' }
  | {
      readonly status: 'started';
      readonly id: string;
      readonly dmKey: string;
      readonly participants: readonly string[];
      readonly createdAt: number;
      /** Latest `last_read_at` of any participant; later messages get a later time. */
      readonly lastReadAt: number;
    };

const unchanged = (state: Conversation): Conversation => state;

export const conversationStream: StreamType<Conversation, ConversationEvent> = {
  category: 'conversation',
  stateVersion: 1,
  initial: { status: 'none' },
  evolve: folded({
    ConversationStarted: (_state, data, { at }) => ({
      status: 'started',
      id: data.conversation_id,
      dmKey: data.dm_key,
      participants: data.participant_user_ids,
      createdAt: at,
      lastReadAt: 0,
    }),
    MessageSent: unchanged,
    MessageEdited: unchanged,
    MessageDeleted: unchanged,
    ConversationRead: (state, _data, { at }) =>
      state.status === 'none' ? state : { ...state, lastReadAt: Math.max(state.lastReadAt, at) },
  }),
};

// Commands

export const MAX_PARTICIPANTS = 50;
export const MAX_BODY_CODE_POINTS = 10_000;

export interface StartConversation {
  readonly conversationId: string;
  readonly dmKey: string;
  readonly participants: readonly string[];
}

export interface SendMessage {
  readonly messageId: string;
  /** Name of a new data key for this message. */
  readonly textKey: string;
  readonly senderId: string;
  /** Stored form, with mentions as ids. */
  readonly storedBody: string;
  readonly mentioned: readonly string[];
}

/** A message as of the revision at which the command is decided. */
export interface MessageFacts {
  readonly messageId: string;
  readonly textKey: string;
  readonly senderId: string;
  readonly sentAt: number;
  readonly editedAt: number | undefined;
  readonly deletedAt: number | undefined;
}

export interface EditMessage {
  readonly userId: string;
  readonly message: MessageFacts | undefined;
  readonly storedBody: string;
}

export interface DeleteMessage {
  readonly userId: string;
  readonly message: MessageFacts | undefined;
}

// Decide

type Started = Extract<Conversation, { status: 'started' }>;
type Result = readonly Decided<ConversationEvent>[];

/** @throws `validation_failed` for a body that is empty, blank, too long or not storable */
export const checkBody = (body: string): void => {
  const issue = (code: string, message: string) => invalidAt('body', code, message);
  if (!isStorableText(body))
    throw issue('invalid_text', 'The body contains characters that cannot be stored.');
  if (body.trim() === '') throw issue('too_small', 'The body must not be blank.');
  if (body.length > MAX_BODY_CODE_POINTS && codePoints(body) > MAX_BODY_CODE_POINTS) {
    throw issue('too_big', 'The body must have at most 10,000 characters.');
  }
};

/** @throws `not_found` for an unknown conversation, `not_a_participant` for another user of the tenant */
export const participating = (state: Conversation, userId: string): Started => {
  if (state.status === 'none') throw notFound();
  if (!state.participants.includes(userId)) {
    throw new DomainError('not_a_participant', 'Only participants can use a conversation.');
  }
  return state;
};

/** A repeated command gives no events. */
export const startConversation = (state: Conversation, command: StartConversation): Result =>
  state.status === 'started'
    ? []
    : decided(ConversationStarted, {
        conversation_id: command.conversationId,
        dm_key: command.dmKey,
        participant_user_ids: [...command.participants],
      });

/**
 * Sets the message's time after every earlier read, so that the message counts as unread.
 * @throws `not_found`, `not_a_participant`
 */
export const sendMessage = (state: Conversation, command: SendMessage, context: DecisionContext): Result => {
  const conversation = participating(state, command.senderId);
  return [
    {
      type: 'MessageSent',
      data: {
        conversation_id: conversation.id,
        message_id: command.messageId,
        sender_user_id: command.senderId,
        body: command.storedBody,
        text_key: command.textKey,
        mentioned_user_ids: [...command.mentioned],
      },
      at: Math.max(context.now, conversation.lastReadAt + 1),
    },
  ];
};

const ownMessage = (
  state: Conversation,
  userId: string,
  message: MessageFacts | undefined,
): { conversation: Started; message: MessageFacts } => {
  const conversation = participating(state, userId);
  if (message === undefined) throw notFound();
  if (message.senderId !== userId) {
    throw new DomainError('not_the_sender', 'Only the sender can change a message.');
  }
  return { conversation, message };
};

/** @throws `not_found`, `not_a_participant`, `not_the_sender`, `invalid_transition` for a deleted message */
export const editMessage = (state: Conversation, command: EditMessage): Result => {
  const { conversation, message } = ownMessage(state, command.userId, command.message);
  if (message.deletedAt !== undefined) {
    throw new DomainError('invalid_transition', 'The message was deleted.', {
      state: 'deleted',
      allowed: [],
    });
  }
  return decided(MessageEdited, {
    conversation_id: conversation.id,
    message_id: message.messageId,
    body: command.storedBody,
    text_key: message.textKey,
  });
};

/** A repeated command gives no events. @throws `not_found`, `not_a_participant`, `not_the_sender` */
export const deleteMessage = (state: Conversation, command: DeleteMessage): Result => {
  const { conversation, message } = ownMessage(state, command.userId, command.message);
  if (message.deletedAt !== undefined) return [];
  return decided(MessageDeleted, {
    conversation_id: conversation.id,
    message_id: message.messageId,
    sender_user_id: message.senderId,
    sent_at: new Date(message.sentAt).toISOString(),
    text_key: message.textKey,
  });
};

/** Moves `last_read_at` to now (specification, Messaging). */
export const markRead = (state: Conversation, userId: string): Result => {
  const conversation = participating(state, userId);
  return decided(ConversationRead, { conversation_id: conversation.id, user_id: userId });
};
