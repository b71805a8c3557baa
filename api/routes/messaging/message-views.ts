import { z } from 'zod';
import { personKeyId } from '../../../application/core/privacy/key-ids.ts';
import { ERASED, type KeyRing, sealedKeyId } from '../../../application/core/privacy/key-ring.ts';
import type { Directory } from '../../../application/identity/directory.ts';
import type { MessageState } from '../../../application/messaging/messaging.ts';
import { iso } from '../../../domain/core/projection.ts';
import { storedMentions, toBody } from '../../../domain/messaging/mentions.ts';
import type { ConversationDoc, MessageDoc } from '../../../projections/messaging/conversations.ts';
import { timestamp } from '../../http/schemas.ts';
import { isoOrNull, shown } from '../replies.ts';

interface Deps {
  readonly directory: Directory;
  readonly keys: KeyRing;
}

const participantView = z.object({
  user_id: z.string(),
  display_name: z.string(),
  last_read_at: timestamp.nullable(),
});

export const conversationView = z
  .object({
    id: z.string(),
    dm_key: z.string().meta({ description: 'SHA-256 of the sorted participant ids, lower-case hex.' }),
    participants: z.array(participantView),
    created_at: timestamp,
  })
  .meta({ id: 'Conversation' });

export const listedConversationView = conversationView
  .extend({ unread_count: z.int().nonnegative(), last_message_at: timestamp.nullable() })
  .meta({ id: 'ListedConversation' });

export const messageView = z
  .object({
    id: z.string(),
    sender_user_id: z.string(),
    body: z.string().optional().meta({ description: 'Absent when deleted.' }),
    created_at: timestamp,
    edited_at: timestamp.nullable(),
    deleted_at: timestamp.nullable(),
  })
  .meta({ id: 'Message' });

/** Answers about conversations and messages, with opened texts and present names. */
export const messageViews = (deps: Deps) => {
  const participants = async (tenantId: string, docs: readonly ConversationDoc[]) => {
    const ids = docs.flatMap((doc) => doc.participants.map((participant) => participant.user_id));
    return deps.directory.names(tenantId, ids);
  };

  const conversation = (doc: ConversationDoc, nameOf: (id: string) => string) =>
    shown(conversationView, {
      ...doc,
      participants: doc.participants.map(({ user_id, last_read_at }) => ({
        user_id,
        display_name: nameOf(user_id),
        last_read_at,
      })),
    });

  /** The answer to a write: the text with present names of mentions; no body for a deleted message. */
  const sent = async (tenantId: string, message: MessageState) => {
    const stored = message.body;
    const nameOf = await deps.directory.names(tenantId, storedMentions(stored ?? ''));
    return {
      id: message.messageId,
      sender_user_id: message.senderId,
      body: stored === undefined ? undefined : toBody(stored, nameOf),
      created_at: iso(message.sentAt),
      edited_at: isoOrNull(message.editedAt),
      deleted_at: isoOrNull(message.deletedAt),
    };
  };

  /** Data keys of the texts in an answer with this message. */
  const keysOf = (tenantId: string, message: MessageState): string[] => [
    `${tenantId}/${message.textKey}`,
    ...storedMentions(message.body ?? '').map((id) => personKeyId(tenantId, id)),
  ];

  const listed = async (tenantId: string, docs: readonly MessageDoc[]) => {
    await deps.keys.load(docs.flatMap(({ body }) => (body === null ? [] : [sealedKeyId(body)])));
    const bodies = docs.map((doc) =>
      doc.body === null ? undefined : (deps.keys.openLoaded(doc.body) ?? ERASED),
    );
    const mentioned = bodies.flatMap((body) => storedMentions(body ?? ''));
    const nameOf = await deps.directory.names(tenantId, mentioned);
    return docs.map((doc, index) => {
      const stored = bodies[index];
      const body = stored === undefined ? undefined : toBody(stored, nameOf);
      const { edited_at = null, deleted_at = null } = doc;
      return shown(messageView, { ...doc, body, edited_at, deleted_at });
    });
  };

  return { participants, conversation, sent, keysOf, listed };
};
