import type { z } from 'zod';
import { conversationDecider, MessageSent } from '../domain/messaging/conversation.ts';
import { storedMentions, toBody, toSnippet } from '../domain/messaging/mentions.ts';
import { NotificationRaised } from '../domain/notifications/inbox.ts';
import { dataOf, type LoggedEvent } from './codec.ts';
import type { Directory } from './directory.ts';
import type { KeyRing } from './sealing.ts';
import type { StreamStates } from './stream-states.ts';

/** An envelope and whom it is for (specification, Events, WebSocket). */
export interface Envelope {
  readonly recipients: readonly string[];
  /** JSON, with the event's position. */
  readonly text: string;
}

/** Events that become envelopes. */
export const ENVELOPE_TYPES: readonly string[] = [MessageSent.type, NotificationRaised.type];

/** Makes envelopes of events; the same for the live end of the log and for a replay. */
export class Envelopes {
  readonly #directory: Directory;
  readonly #states: StreamStates;
  readonly #keys: KeyRing;

  constructor(deps: { directory: Directory; states: StreamStates; keys: KeyRing }) {
    this.#directory = deps.directory;
    this.#states = deps.states;
    this.#keys = deps.keys;
  }

  /** Undefined for an event that makes none, or whose text was erased meanwhile. */
  async of(event: LoggedEvent): Promise<Envelope | undefined> {
    const message = dataOf(MessageSent, event);
    if (message !== undefined) return this.#message(event, message);
    const raised = dataOf(NotificationRaised, event);
    return raised === undefined ? undefined : this.#notification(event, raised);
  }

  /** Whom an event's envelope is for; nobody where it makes none. */
  async recipients(event: LoggedEvent): Promise<readonly string[]> {
    const raised = dataOf(NotificationRaised, event);
    if (raised !== undefined) return [raised.recipient_user_id];
    const message = dataOf(MessageSent, event);
    if (message === undefined) return [];
    const { state } = await this.#states.load(event.tenantId, conversationDecider, message.conversation_id);
    return state.status === 'started' ? state.participants : [];
  }

  async #message(
    event: LoggedEvent,
    message: z.output<typeof MessageSent.schema>,
  ): Promise<Envelope | undefined> {
    const stored = await this.#keys.open(message.body);
    if (stored === undefined) return undefined;
    const recipients = await this.recipients(event);
    const nameOf = await this.#directory.names(event.tenantId, storedMentions(stored));
    const text = JSON.stringify({
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
    return { recipients, text };
  }

  async #notification(
    event: LoggedEvent,
    raised: z.output<typeof NotificationRaised.schema>,
  ): Promise<Envelope | undefined> {
    const stored = (await this.#keys.open(raised.snippet)) ?? '';
    const nameOf = await this.#directory.names(event.tenantId, storedMentions(stored));
    const actor = await this.#directory.user(event.tenantId, raised.actor_user_id);
    const text = JSON.stringify({
      kind: 'notification',
      event: 'created',
      position: event.position,
      notification: {
        id: raised.notification_id,
        kind: raised.kind,
        actor_email: actor === undefined ? '' : await this.#directory.open(actor.email),
        subject_kind: raised.subject_kind,
        subject_id: raised.subject_id,
        note_id: raised.note_id,
        snippet: toSnippet(stored, nameOf),
        read_at: null,
        created_at: new Date(event.at).toISOString(),
      },
    });
    return { recipients: [raised.recipient_user_id], text };
  }
}
