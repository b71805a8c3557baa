import { createHash } from 'node:crypto';
import { DomainError, invalidAt, notFound } from '../../domain/core/errors.ts';
import {
  type Conversation,
  type ConversationEvent,
  checkBody,
  conversationStream,
  deleteMessage,
  editMessage,
  MAX_PARTICIPANTS,
  type MessageFacts,
  markRead,
  participating,
  sendMessage,
  startConversation,
} from '../../domain/messaging/conversation.ts';
import { mentionedIds, toStoredText } from '../../domain/messaging/mentions.ts';
import type { Outcome, Written } from '../core/commands/command.ts';
import { type RequestContext, uuidFromName } from '../core/commands/request-context.ts';
import type { Streams } from '../core/commands/streams.ts';
import type { EventCodec, RecordedEvent } from '../core/events/event-codec.ts';
import { textKeyOf } from '../core/privacy/key-ids.ts';
import { ERASED, type KeyRing } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import { USER_ID } from '../identity/authentication-claims.ts';
import type { Directory } from '../identity/directory.ts';
import type { EventStore, Position } from '../ports/event-store.ts';
import { MessageFactsReader, type MessageLookup } from './message-facts.ts';

/** A message after a command; `body` is undefined for a deleted message. */
export interface MessageState extends MessageFacts {
  readonly body: string | undefined;
}

type ConversationOutcome = Outcome<Conversation, ConversationEvent>;

/** Use cases of direct messages (specification, Messaging). */
export class Messaging extends WithDeps<{
  streams: Streams;
  directory: Directory;
  events: EventStore;
  codec: EventCodec;
  keys: KeyRing;
  lookUpMessage: (tenantId: string, messageId: string) => Promise<MessageLookup>;
}> {
  readonly #facts = new MessageFactsReader(this.deps);

  /**
   * Finds or starts the conversation of exactly these people and the caller.
   * @throws `validation_failed` for fewer than two or more than 50 people, `not_found` for a person who is not active
   */
  async start(
    tenantId: string,
    callerId: string,
    participantIds: readonly string[],
    context: RequestContext,
  ): Promise<Written<{ conversation: Extract<Conversation, { status: 'started' }>; created: boolean }>> {
    const participants = [...new Set([callerId, ...participantIds])].sort();
    const issue = (code: string, message: string) => invalidAt('participant_user_ids', code, message);
    if (participants.length < 2) throw issue('too_small', 'A conversation needs at least two people.');
    if (participants.length > MAX_PARTICIPANTS)
      throw issue('too_big', 'A conversation can have at most 50 people.');
    if (!participants.every((id) => USER_ID.test(id))) throw notFound();
    const users = await this.deps.directory.freshUsers(tenantId, participants);
    if (participants.some((id) => users.get(id)?.status !== 'active')) throw notFound();
    const dmKey = dmKeyOf(participants);
    const conversationId = uuidFromName(`conversation\n${tenantId}\n${dmKey}`);
    const outcome = await this.#stream(tenantId, conversationId).execute(context, (state) =>
      startConversation(state, { conversationId, dmKey, participants }),
    );
    if (outcome.state.status === 'none') throw notFound();
    return { conversation: outcome.state, created: outcome.events.length > 0, position: outcome.position };
  }

  /** @throws `not_found`, `not_a_participant` */
  async conversation(
    tenantId: string,
    conversationId: string,
    userId: string,
  ): Promise<Extract<Conversation, { status: 'started' }>> {
    const { state } = await this.#stream(tenantId, conversationId).load();
    return participating(state, userId);
  }

  /** @throws `not_found`, `not_a_participant`, `validation_failed` */
  async send(
    tenantId: string,
    conversationId: string,
    senderId: string,
    body: string,
    context: RequestContext,
  ): Promise<Written<{ message: MessageState }>> {
    checkBody(body);
    const mentions = await this.#mentions(tenantId, body);
    const messageId = context.newId();
    const storedBody = toStoredText(body, mentions.known);
    const textKey = await this.deps.keys.newTextKey(tenantId);
    const outcome = await this.#stream(tenantId, conversationId).execute(context, (state, at) =>
      sendMessage(
        state,
        {
          messageId,
          textKey,
          senderId,
          storedBody,
          mentioned: mentions.active.filter((id) => id !== senderId),
        },
        at,
      ),
    );
    const sent = appendedEvent(outcome, 'MessageSent');
    // A repeated request is answered with the text of its first try, which may be erased.
    const text = await this.deps.keys.open(sent.data.body);
    const sentId = sent.data.message_id;
    if (text === undefined) {
      return { message: await this.#erased(tenantId, conversationId, sentId), position: outcome.position };
    }
    const message = {
      messageId: sentId,
      textKey: textKeyOf(sent.data),
      senderId,
      body: text,
      sentAt: sent.at,
      editedAt: undefined,
      deletedAt: undefined,
    };
    return { message, position: outcome.position };
  }

  /** @throws `not_found`, `not_a_participant`, `not_the_sender`, `invalid_transition`, `validation_failed` */
  async edit(
    tenantId: string,
    conversationId: string,
    messageId: string,
    userId: string,
    body: string,
    context: RequestContext,
  ): Promise<Written<{ message: MessageState }>> {
    checkBody(body);
    const storedBody = toStoredText(body, (await this.#mentions(tenantId, body)).known);
    let facts: MessageFacts | undefined;
    const outcome = await this.#stream(tenantId, conversationId).execute(context, {
      prepare: async (current) => {
        facts = await this.#facts.of(tenantId, conversationId, messageId, current);
        return facts;
      },
      decide: (state, _at, message) => editMessage(state, { userId, message, storedBody }),
    });
    const edited = appendedEvent(outcome, 'MessageEdited');
    const known = facts ?? (await this.#factsNow(tenantId, conversationId, messageId));
    const text = await this.deps.keys.open(edited.data.body);
    if (text === undefined) {
      return { message: await this.#erased(tenantId, conversationId, messageId), position: outcome.position };
    }
    const message = {
      messageId,
      textKey: textKeyOf(edited.data),
      senderId: userId,
      body: text,
      sentAt: known?.sentAt ?? edited.at,
      editedAt: edited.at,
      deletedAt: undefined,
    };
    return { message, position: outcome.position };
  }

  /**
   * Resolves when the text is erased; has no effect on a deleted message.
   * @throws `not_found`, `not_a_participant`, `not_the_sender`
   */
  async delete(
    tenantId: string,
    conversationId: string,
    messageId: string,
    userId: string,
    context: RequestContext,
  ): Promise<Written<{ message: MessageState }>> {
    let facts: MessageFacts | undefined;
    const outcome = await this.#stream(tenantId, conversationId).execute(
      { cause: context.cause },
      {
        prepare: async (current) => {
          facts = await this.#facts.of(tenantId, conversationId, messageId, current);
          return facts;
        },
        decide: (state, _at, message) => deleteMessage(state, { userId, message }),
      },
    );
    if (facts === undefined) throw notFound();
    await this.deps.keys.destroy(`${tenantId}/${facts.textKey}`);
    const deletedAt = facts.deletedAt ?? outcome.events[0]?.at;
    return { message: { ...facts, deletedAt, body: undefined }, position: outcome.position };
  }

  /** @throws `not_found`, `not_a_participant` */
  async read(
    tenantId: string,
    conversationId: string,
    userId: string,
    context: RequestContext,
  ): Promise<Position | undefined> {
    const outcome = await this.#stream(tenantId, conversationId).execute(context, (state) =>
      markRead(state, userId),
    );
    return outcome.position;
  }

  #stream(tenantId: string, conversationId: string) {
    return this.deps.streams.of(conversationStream, tenantId, conversationId);
  }

  /** Ids of the tenant's users that the text mentions: all in `known`, only active users in `active`. */
  async #mentions(tenantId: string, body: string): Promise<{ known: ReadonlySet<string>; active: string[] }> {
    const ids = mentionedIds(body);
    if (ids.length === 0) return { known: new Set(), active: [] };
    const users = await this.deps.directory.freshUsers(tenantId, ids);
    return {
      known: new Set(users.keys()),
      active: [...users.values()].filter((user) => user.status === 'active').map((user) => user.id),
    };
  }

  /** A message whose text has been erased, for the answer to a repeated request. */
  async #erased(tenantId: string, conversationId: string, messageId: string): Promise<MessageState> {
    const facts = await this.#factsNow(tenantId, conversationId, messageId);
    if (facts === undefined) throw notFound();
    return { ...facts, body: facts.deletedAt === undefined ? ERASED : undefined };
  }

  async #factsNow(
    tenantId: string,
    conversationId: string,
    messageId: string,
  ): Promise<MessageFacts | undefined> {
    const current = await this.#stream(tenantId, conversationId).load();
    return this.#facts.of(tenantId, conversationId, messageId, current);
  }
}

/** Lower-case hex SHA-256 of the distinct ids, sorted by code unit, joined with `,` (decisions, section 4). */
export const dmKeyOf = (userIds: readonly string[]): string =>
  createHash('sha256')
    .update([...new Set(userIds)].sort().join(','))
    .digest('hex');

const appendedEvent = <T extends ConversationEvent['type']>(
  outcome: ConversationOutcome,
  type: T,
): Extract<RecordedEvent<ConversationEvent>, { type: T }> => {
  const isWanted = (
    event: RecordedEvent<ConversationEvent>,
  ): event is Extract<RecordedEvent<ConversationEvent>, { type: T }> => event.type === type;
  const event = outcome.events.find(isWanted);
  if (event === undefined) throw new DomainError('internal_error', 'The command appended no event.');
  return event;
};
