import {
  type Conversation,
  type ConversationEvent,
  conversationStream,
  type MessageFacts,
} from '../../domain/messaging/conversation.ts';
import type { StreamState } from '../core/commands/stream-states.ts';
import type { EventCodec, RecordedEvent } from '../core/events/event-codec.ts';
import { streamName } from '../core/events/stream-name.ts';
import { textKeyOf } from '../core/privacy/key-ids.ts';
import { sealedKeyId } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { EventStore, Position } from '../ports/event-store.ts';

/** A message from the read model, and the model's checkpoint as read before the message. */
export interface MessageLookup {
  readonly checkpoint: Position | undefined;
  readonly message: StoredMessage | undefined;
}

/** The part of a message's document that commands need. */
interface StoredMessage {
  readonly id: string;
  readonly conversation_id: string;
  readonly sender_user_id: string;
  readonly body: string | null;
  readonly text_key?: string;
  readonly created_at: string;
  readonly edited_at?: string;
  readonly deleted_at?: string;
}

/** Finds facts of old messages for commands (docs/decisions/0001-facts-of-old-messages.md). */
export class MessageFactsReader extends WithDeps<{
  events: EventStore;
  codec: EventCodec;
  lookUpMessage: (tenantId: string, messageId: string) => Promise<MessageLookup>;
}> {
  /**
   * The facts of a message at `current`: from the read model, and from the stream's events after the model's
   * checkpoint.
   */
  async of(
    tenantId: string,
    conversationId: string,
    messageId: string,
    current: StreamState<Conversation>,
  ): Promise<MessageFacts | undefined> {
    if (current.revision < 0) return undefined;
    const { checkpoint, message } = await this.deps.lookUpMessage(tenantId, messageId);
    let facts = message?.conversation_id === conversationId ? storedFacts(message, tenantId) : undefined;
    const stream = streamName(tenantId, conversationStream.category, conversationId);
    for (const event of await this.#tail(stream, current.revision, checkpoint)) {
      facts = foldFacts(facts, event as RecordedEvent<ConversationEvent>, messageId);
    }
    return facts;
  }

  /** Events of a stream after `checkpoint` and up to `revision`, oldest first. */
  async #tail(stream: string, revision: number, checkpoint: Position | undefined): Promise<RecordedEvent[]> {
    const tail: RecordedEvent[] = [];
    let from = revision;
    while (from >= 0) {
      const page = await this.deps.events.readStream(stream, { direction: 'backward', from, limit: 100 });
      for (const stored of page) {
        if (checkpoint !== undefined && stored.position <= checkpoint) return tail.reverse();
        tail.push(this.deps.codec.decode(stored));
      }
      from -= Math.max(page.length, 1);
      if (page.length === 0) break;
    }
    return tail.reverse();
  }
}

const storedFacts = (
  { id, body, text_key, sender_user_id, created_at, edited_at, deleted_at }: StoredMessage,
  tenantId: string,
): MessageFacts => ({
  messageId: id,
  textKey: text_key ?? (body === null ? `message-${id}` : sealedKeyId(body).slice(tenantId.length + 1)),
  senderId: sender_user_id,
  sentAt: Date.parse(created_at),
  editedAt: edited_at === undefined ? undefined : Date.parse(edited_at),
  deletedAt: deleted_at === undefined ? undefined : Date.parse(deleted_at),
});

const foldFacts = (
  facts: MessageFacts | undefined,
  event: RecordedEvent<ConversationEvent>,
  messageId: string,
): MessageFacts | undefined => {
  if (!('message_id' in event.data) || event.data.message_id !== messageId) return facts;
  switch (event.type) {
    case 'MessageSent':
      return {
        messageId,
        textKey: textKeyOf(event.data),
        senderId: event.data.sender_user_id,
        sentAt: event.at,
        editedAt: undefined,
        deletedAt: undefined,
      };
    case 'MessageEdited':
      return facts === undefined ? undefined : { ...facts, editedAt: event.at };
    case 'MessageDeleted':
      return facts === undefined ? undefined : { ...facts, deletedAt: event.at };
    case 'ConversationStarted':
    case 'ConversationRead':
      return facts;
    default:
      return event satisfies never;
  }
};
