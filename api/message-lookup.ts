import type { ReadModels } from '../application/read-models.ts';
import { messageById } from '../projections/conversations.ts';

/** Finds a message in the read model, for `MessageFactsReader`. */
export const messageLookup = (readModels: ReadModels) => {
  const reader = readModels.reader('conversations');
  return async (tenantId: string, messageId: string) => {
    // The checkpoint first: what is folded after it may show in the document, and is folded again from the stream.
    const checkpoint = await reader.checkpoint(tenantId);
    const doc = await messageById(reader, tenantId, messageId);
    return {
      checkpoint,
      message:
        doc === undefined
          ? undefined
          : {
              conversationId: doc.conversation_id,
              messageId: doc.id,
              textKey: doc.text_key,
              senderId: doc.sender_user_id,
              sentAt: Date.parse(doc.created_at),
              editedAt: doc.edited_at === null ? undefined : Date.parse(doc.edited_at),
              deletedAt: doc.deleted_at === null ? undefined : Date.parse(doc.deleted_at),
            },
    };
  };
};
