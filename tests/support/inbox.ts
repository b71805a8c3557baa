import { eventually } from './server.ts';
import { notifications } from './shapes.ts';
import { type Member, NOTIFICATIONS, say, token } from './world.ts';

/** What somebody was notified of. */
export const inbox = async (who: Member) =>
  (await who.api.get(`${NOTIFICATIONS}?limit=200`)).as(notifications);

/** The inbox once it holds `size` notifications. */
export const inboxOf = (who: Member, size: number, timeoutMs?: number) =>
  eventually(
    `${size} notifications for ${who.name}`,
    async () => {
      const found = await inbox(who);
      return found.length >= size ? found : undefined;
    },
    timeoutMs,
  );

/** Somebody is mentioned last: once that one is notified, all before have been, or will never be. */
export const settled = async (sender: Member, conversationId: string, fence: Member): Promise<void> => {
  const before = (await inbox(fence)).length;
  await say(sender, conversationId, token(fence));
  await inboxOf(fence, before + 1);
};
