import { MessageDeleted, textKeyOf } from '../../domain/messaging/conversation.ts';
import { dataOf } from '../codec.ts';
import type { KeyRing } from '../sealing.ts';
import type { Subscriber } from '../subscriber.ts';

/**
 * Destroys the keys of deleted messages. The request that deletes does so before it answers; this makes good what a
 * crash in between left, and what a restore of old keys brought back.
 */
export const eraser = (deps: { readonly keys: KeyRing }): Subscriber => ({
  name: 'eraser',
  types: [MessageDeleted.type],
  handle: async (event) => {
    const deleted = dataOf(MessageDeleted, event);
    if (deleted !== undefined) await deps.keys.destroy(`${event.tenantId}/${textKeyOf(deleted)}`);
  },
});
