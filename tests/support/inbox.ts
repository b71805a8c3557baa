import { eventually } from './server.ts';
import { notifications } from './shapes.ts';
import { type Member, NOTIFICATIONS, say, token } from './world.ts';

/** The notifications of a person. */
export const inbox = async (who: Member) =>
  (await who.api.get(`${NOTIFICATIONS}?limit=200`)).as(notifications);

/** Waits until the inbox has at least `size` notifications. */
export const inboxOf = (who: Member, size: number, timeoutMs?: number) =>
  eventually(
    `${size} notifications for ${who.name}`,
    async () => {
      const found = await inbox(who);
      return found.length >= size ? found : undefined;
    },
    timeoutMs,
  );

/** Waits until earlier mentions have been handled: mentions one more person, whose notification comes last. */
export const settled = async (sender: Member, conversationId: string, fence: Member): Promise<void> => {
  const before = (await inbox(fence)).length;
  await say(sender, conversationId, token(fence));
  await inboxOf(fence, before + 1);
};
