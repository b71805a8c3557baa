import type { z } from 'zod';
import { conversationStream, MessageSent } from '../../domain/messaging/conversation.ts';
import { storedMentions, toBody, toSnippet } from '../../domain/messaging/mentions.ts';
import { NotificationRaised } from '../../domain/notifications/inbox.ts';
import type { Streams } from '../core/commands/streams.ts';
import { dataOf, type LoggedEvent } from '../core/events/event-codec.ts';
import { type KeyRing, sealedKeyId } from '../core/privacy/key-ring.ts';
import { WithDeps } from '../core/with-deps.ts';
import type { Directory } from '../identity/directory.ts';

/** An envelope and its recipients (specification, Events, WebSocket). */
export interface Envelope {
  readonly recipients: readonly string[];
  /**
   * JSON with the event's position; undefined when the text of a message was erased. Call this function in the tick in
   * which {@link Envelopes.prepare} resolved, while the key is loaded.
   */
  text(): string | undefined;
}

/** Types of events with an envelope. */
export const ENVELOPE_TYPES: readonly string[] = [MessageSent.type, NotificationRaised.type];

/** Makes envelopes of events, for live delivery and for replays. */
export class Envelopes extends WithDeps<{ directory: Directory; streams: Streams; keys: KeyRing }> {
  /** Undefined for an event without an envelope. @throws {StoreUnavailable} */
  async prepare(event: LoggedEvent): Promise<Envelope | undefined> {
    const message = dataOf(MessageSent, event);
    if (message !== undefined) return this.#message(event, message);
    const raised = dataOf(NotificationRaised, event);
    return raised === undefined ? undefined : this.#notification(event, raised);
  }

  /** Recipients of an event's envelope; empty for an event without an envelope. */
  async recipients(event: LoggedEvent): Promise<readonly string[]> {
    const raised = dataOf(NotificationRaised, event);
    if (raised !== undefined) return [raised.recipient_user_id];
    const message = dataOf(MessageSent, event);
    if (message === undefined) return [];
    const { state } = await this.deps.streams
      .of(conversationStream, event.tenantId, message.conversation_id)
      .load();
    return state.status === 'started' ? state.participants : [];
  }

  async #message(event: LoggedEvent, message: z.output<typeof MessageSent.schema>): Promise<Envelope> {
    const recipients = await this.recipients(event);
    const nameOf = await this.#names(event.tenantId, message.body);
    const text = (): string | undefined => {
      const stored = this.deps.keys.openLoaded(message.body);
      if (stored === undefined) return undefined;
      return JSON.stringify({
        kind: 'message',
        event: 'created',
        position: event.position,
        conversation_id: message.conversation_id,
        message: {
          id: message.message_id,
          sender_user_id: message.sender_user_id,
          body: toBody(stored, nameOf),
          created_at: new Date(event.at).toISOString(),
        },
      });
    };
    return { recipients, text };
  }

  async #notification(
    event: LoggedEvent,
    raised: z.output<typeof NotificationRaised.schema>,
  ): Promise<Envelope> {
    const actor = await this.deps.directory.user(event.tenantId, raised.actor_user_id);
    const actorEmail = actor === undefined ? '' : await this.deps.directory.open(actor.email);
    const nameOf = await this.#names(event.tenantId, raised.snippet);
    const text = (): string =>
      JSON.stringify({
        kind: 'notification',
        event: 'created',
        position: event.position,
        notification: {
          id: raised.notification_id,
          kind: raised.kind,
          actor_email: actorEmail,
          subject_kind: raised.subject_kind,
          subject_id: raised.subject_id,
          note_id: raised.note_id,
          snippet: toSnippet(this.deps.keys.openLoaded(raised.snippet) ?? '', nameOf),
          read_at: null,
          created_at: new Date(event.at).toISOString(),
        },
      });
    return { recipients: [raised.recipient_user_id], text };
  }

  /** Names of people mentioned in a sealed text. The text's key is loaded in the tick in which the promise resolves. */
  async #names(tenantId: string, sealed: string): Promise<(userId: string) => string> {
    const mentioned = storedMentions((await this.deps.keys.open(sealed)) ?? '');
    const nameOf = await this.deps.directory.names(tenantId, mentioned);
    // Reading names may have taken several ticks, in which the key may have been evicted.
    if (mentioned.length > 0) await this.deps.keys.load([sealedKeyId(sealed)]);
    return nameOf;
  }
}
