import { Envelopes } from '../../application/messaging/envelopes.ts';
import { mentionNotifier } from '../../application/messaging/mention-notifier.ts';
import { Messaging } from '../../application/messaging/messaging.ts';
import { messageById } from '../../projections/messaging/conversations.ts';
import { messagingRoutes } from '../routes/messaging/messaging.ts';
import type { Area } from './area.ts';
import type { Core } from './core.ts';

/** Direct messages and mentions. */
export const composeMessaging = (core: Core) => {
  const reader = core.readModels.reader('conversations');
  const messaging = new Messaging({
    ...core,
    // Reads the checkpoint first: the document may hold later events, which are then folded again from the stream.
    lookUpMessage: async (tenantId, messageId) => ({
      checkpoint: await reader.checkpoint(tenantId),
      message: await messageById(reader, tenantId, messageId),
    }),
  });
  return {
    messaging,
    envelopes: new Envelopes(core),
    routes: messagingRoutes({ ...core, messaging }),
    subscribers: [mentionNotifier(core)],
  } satisfies Area & Record<string, unknown>;
};
