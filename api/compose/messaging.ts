import { sealedKeyId } from '../../application/core/privacy/key-ring.ts';
import type { ReadModels } from '../../application/core/projections/read-models.ts';
import { mentionNotifier } from '../../application/messaging/mention-notifier.ts';
import { Messaging } from '../../application/messaging/messaging.ts';
import { type MessageDoc, messageById } from '../../projections/messaging/conversations.ts';
import { messagingRoutes } from '../routes/messaging/messaging.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Direct messages and mentions. */
export const composeMessaging = (core: Core) => {
  const { streams, directory, stores, codec, keys, readModels } = core;
  const messaging = new Messaging({
    streams,
    directory,

    events: stores.events,
    codec,
    keys,
    lookUpMessage: messageLookup(readModels),
  });
  return {
    messaging,
    routes: messagingRoutes({ ...core, messaging }),
    subscribers: [mentionNotifier({ streams, keys })],
  } satisfies Area & Record<string, unknown>;
};

/** Name of a message's data key within the tenant. */
export const textKeyOf = ({ id, body, text_key }: MessageDoc, tenantId: string): string =>
  text_key ?? (body === null ? `message-${id}` : sealedKeyId(body).slice(tenantId.length + 1));

/** Finds a message in the read model, for `MessageFactsReader`. */
const messageLookup = (readModels: ReadModels) => {
  const reader = readModels.reader('conversations');
  return async (tenantId: string, messageId: string) => {
    // Reads the checkpoint first: the document may hold later events, which are then folded again from the stream.
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
              textKey: textKeyOf(doc, tenantId),
              senderId: doc.sender_user_id,
              sentAt: Date.parse(doc.created_at),
              editedAt: doc.edited_at === undefined ? undefined : Date.parse(doc.edited_at),
              deletedAt: doc.deleted_at === undefined ? undefined : Date.parse(doc.deleted_at),
            },
    };
  };
};
